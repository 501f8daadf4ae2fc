"""The wire types: JSON-compatible in both directions with the classes of the same name in ``google.genai.types``.

A name is imported from its module when it is first used (PEP 562), so an ordinary text turn pays for the
few types it needs and not for the live API, grounding or retrieval.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_MODULES = {
    "attachments": (
        "AudioMetadata DocumentMetadata DocumentMetadataContentLayer FunctionResponseBlob "
        "FunctionResponseFileData MediaProcessing SpreadsheetMetadata SpreadsheetMetadataContentLayer"
    ),
    "caching": "CachedContent CachedContentUsageMetadata CreateCachedContentConfig UpdateCachedContentConfig",
    "citations": "Citation CitationMetadata GoogleTypeDate",
    "config": (
        "AutomaticFunctionCallingConfig GenerateContentConfig MediaResolution ServiceTier ThinkingConfig ThinkingLevel"
    ),
    "content": "Content FunctionCall FunctionResponse ModelContent Part UserContent",
    "credentials": (
        "ApiAuth ApiAuthApiKeyConfig ApiKeyConfig AuthConfig AuthConfigGoogleServiceAccountConfig "
        "AuthConfigHttpBasicAuthConfig AuthConfigOauthConfig AuthConfigOidcConfig AuthType HttpElementLocation"
    ),
    "files": "File FileSource FileState FileStatus",
    "formats": (
        "AspectRatio AudioResponseFormat Delivery ImageResponseFormat ImageSize ResponseFormat TextResponseFormat "
        "VideoResponseFormat"
    ),
    "generation": (
        "FeatureSelectionPreference GenerationConfig GenerationConfigRoutingConfig "
        "GenerationConfigRoutingConfigAutoRoutingMode GenerationConfigRoutingConfigManualRoutingMode "
        "GenerationOutputConfig Modality ModelSelectionConfig"
    ),
    "grounding": (
        "GroundingChunk GroundingChunkCustomMetadata GroundingChunkImage GroundingChunkMaps "
        "GroundingChunkMapsPlaceAnswerSources GroundingChunkMapsPlaceAnswerSourcesAuthorAttribution "
        "GroundingChunkMapsPlaceAnswerSourcesReviewSnippet GroundingChunkMapsRoute GroundingChunkRetrievedContext "
        "GroundingChunkStringList GroundingChunkWeb GroundingMetadata GroundingMetadataSourceFlaggingUri "
        "GroundingSupport RagChunk RagChunkPageSpan RetrievalMetadata SearchEntryPoint Segment"
    ),
    "hot": "FrozenError",
    "http": "HttpOptions HttpResponse HttpRetryOptions ResourceScope",
    "images": "ImageConfig ImageConfigImageOutputOptions ProminentPeople",
    "live": (
        "ActivityHandling AutomaticActivityDetection AvatarConfig ContextWindowCompressionConfig CustomizedAvatar "
        "EndSensitivity HistoryConfig LiveConnectConfig ProactivityConfig RealtimeInputConfig "
        "SessionResumptionConfig SlidingWindow StartSensitivity TurnCoverage"
    ),
    "live_client": (
        "ActivityEnd ActivityStart LiveClientContent LiveClientContextUpdate LiveClientContextUpdateTools "
        "LiveClientMessage LiveClientRealtimeInput LiveClientSetup LiveClientToolResponse LiveConnectParameters"
    ),
    "live_server": (
        "InteractionStatus LiveServerContent LiveServerGoAway LiveServerMessage LiveServerSessionResumptionUpdate "
        "LiveServerSetupComplete LiveServerToolCall LiveServerToolCallCancellation VadSignalType VoiceActivity "
        "VoiceActivityDetectionSignal VoiceActivityType"
    ),
    "logprobs": "LogprobsResult LogprobsResultCandidate LogprobsResultTopCandidates",
    "media": (
        "Blob CodeExecutionResult ExecutableCode FileData FunctionResponsePart FunctionResponseScheduling "
        "Language Outcome PartMediaResolution PartMediaResolutionLevel PartialArg VideoMetadata "
        "VideoMetadataContentLayer"
    ),
    "reasons": "BlockedReason FinishReason TurnCompleteReason",
    "response": (
        "Candidate GenerateContentResponse GenerateContentResponsePromptFeedback ModelStage ModelStatus "
        "UrlContextMetadata UrlMetadata UrlRetrievalStatus"
    ),
    "retrieval": (
        "ApiSpec ExternalApi ExternalApiElasticSearchParams ExternalApiSimpleSearchParams RagRetrievalConfig "
        "RagRetrievalConfigFilter RagRetrievalConfigHybridSearch RagRetrievalConfigRanking "
        "RagRetrievalConfigRankingLlmRanker RagRetrievalConfigRankingRankService Retrieval VertexAISearch "
        "VertexAISearchDataStoreSpec VertexRagStore VertexRagStoreRagResource"
    ),
    "safety": (
        "HarmBlockMethod HarmBlockThreshold HarmCategory HarmProbability HarmSeverity ModelArmorConfig "
        "SafetyRating SafetySetting"
    ),
    "schema": "Schema Type",
    "server_tools": (
        "ComputerUse DynamicRetrievalConfig DynamicRetrievalConfigMode EnterpriseWebSearch Environment FileSearch "
        "GoogleMaps GoogleMapsGroundingTypes GoogleMapsPlaces GoogleMapsRouting GoogleSearch "
        "GoogleSearchRetrieval ImageSearch Interval McpServer PhishBlockThreshold SafetyPolicy SearchTypes "
        "StreamableHttpTransport ToolCodeExecution ToolExaAiSearch ToolParallelAiSearch UrlContext WebSearch"
    ),
    "speech": (
        "AudioTranscriptionConfig AudioTranscriptionConfigMode LanguageAuto LanguageHints MultiSpeakerVoiceConfig "
        "PrebuiltVoiceConfig ReplicatedVoiceConfig SpeakerVoiceConfig SpeechConfig TranslationConfig VoiceConfig "
        "VoiceConsentSignature"
    ),
    "tools": (
        "Behavior FunctionCallingConfig FunctionCallingConfigMode FunctionDeclaration LatLng RetrievalConfig Tool "
        "ToolConfig"
    ),
    "transcription": "Transcription WordInfo",
    "unions": (
        "ContentListUnion ContentListUnionDict ContentUnion ContentUnionDict PartListUnion PartListUnionDict "
        "PartUnion PartUnionDict SchemaUnion SchemaUnionDict SpeechConfigUnion SpeechConfigUnionDict "
        "ToolListUnion ToolListUnionDict ToolUnion ToolUnionDict"
    ),
    "usage": "GenerateContentResponseUsageMetadata MediaModality ModalityTokenCount TrafficType UsageMetadata",
    "wire": "ResponseModel WireEnum WireModel",
}
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names.split()}
__all__ = sorted(_MODULE_OF)


def __getattr__(name: str) -> Any:
    module = _MODULE_OF.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"{__name__}.{module}"), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
