"""Safety settings of a request and safety ratings of a response."""

from newel_types.wire import ResponseModel, WireEnum, WireModel


class HarmCategory(WireEnum):
    """A kind of harm."""

    HARM_CATEGORY_UNSPECIFIED = "HARM_CATEGORY_UNSPECIFIED"
    HARM_CATEGORY_HARASSMENT = "HARM_CATEGORY_HARASSMENT"
    HARM_CATEGORY_HATE_SPEECH = "HARM_CATEGORY_HATE_SPEECH"
    HARM_CATEGORY_SEXUALLY_EXPLICIT = "HARM_CATEGORY_SEXUALLY_EXPLICIT"
    HARM_CATEGORY_DANGEROUS_CONTENT = "HARM_CATEGORY_DANGEROUS_CONTENT"
    HARM_CATEGORY_CIVIC_INTEGRITY = "HARM_CATEGORY_CIVIC_INTEGRITY"
    HARM_CATEGORY_JAILBREAK = "HARM_CATEGORY_JAILBREAK"
    HARM_CATEGORY_IMAGE_HATE = "HARM_CATEGORY_IMAGE_HATE"
    HARM_CATEGORY_IMAGE_DANGEROUS_CONTENT = "HARM_CATEGORY_IMAGE_DANGEROUS_CONTENT"
    HARM_CATEGORY_IMAGE_HARASSMENT = "HARM_CATEGORY_IMAGE_HARASSMENT"
    HARM_CATEGORY_IMAGE_SEXUALLY_EXPLICIT = "HARM_CATEGORY_IMAGE_SEXUALLY_EXPLICIT"


class HarmBlockMethod(WireEnum):
    """Whether blocking goes by probability alone, or by severity too."""

    HARM_BLOCK_METHOD_UNSPECIFIED = "HARM_BLOCK_METHOD_UNSPECIFIED"
    SEVERITY = "SEVERITY"
    PROBABILITY = "PROBABILITY"


class HarmBlockThreshold(WireEnum):
    """The level from which on content is blocked."""

    HARM_BLOCK_THRESHOLD_UNSPECIFIED = "HARM_BLOCK_THRESHOLD_UNSPECIFIED"
    BLOCK_LOW_AND_ABOVE = "BLOCK_LOW_AND_ABOVE"
    BLOCK_MEDIUM_AND_ABOVE = "BLOCK_MEDIUM_AND_ABOVE"
    BLOCK_ONLY_HIGH = "BLOCK_ONLY_HIGH"
    BLOCK_NONE = "BLOCK_NONE"
    OFF = "OFF"


class HarmProbability(WireEnum):
    """How likely content is to be harmful."""

    HARM_PROBABILITY_UNSPECIFIED = "HARM_PROBABILITY_UNSPECIFIED"
    NEGLIGIBLE = "NEGLIGIBLE"
    LOW = "LOW"
    MEDIUM = "MEDIUM"
    HIGH = "HIGH"


class HarmSeverity(WireEnum):
    """How severe harmful content is."""

    HARM_SEVERITY_UNSPECIFIED = "HARM_SEVERITY_UNSPECIFIED"
    HARM_SEVERITY_NEGLIGIBLE = "HARM_SEVERITY_NEGLIGIBLE"
    HARM_SEVERITY_LOW = "HARM_SEVERITY_LOW"
    HARM_SEVERITY_MEDIUM = "HARM_SEVERITY_MEDIUM"
    HARM_SEVERITY_HIGH = "HARM_SEVERITY_HIGH"


class SafetySetting(WireModel):
    """The threshold for one category of harm."""

    category: HarmCategory | None = None
    method: HarmBlockMethod | None = None
    threshold: HarmBlockThreshold | None = None


class SafetyRating(ResponseModel):
    """The rating of content in one category of harm."""

    blocked: bool | None = None
    category: HarmCategory | None = None
    overwritten_threshold: HarmBlockThreshold | None = None
    probability: HarmProbability | None = None
    probability_score: float | None = None
    severity: HarmSeverity | None = None
    severity_score: float | None = None


class ModelArmorConfig(WireModel):
    """Model Armor templates for the prompt and the response, by resource name."""

    prompt_template_name: str | None = None
    response_template_name: str | None = None
