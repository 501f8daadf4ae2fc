"""The wire types: JSON-compatible in both directions with the classes of the same name in ``google.genai.types``.

A name is imported from its module when it is first used (PEP 562), so an ordinary text turn pays for the
few types it needs and not for the live API, grounding or retrieval.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mortise_kernel.types.attachments import (
        AudioMetadata,
        DocumentMetadata,
        DocumentMetadataContentLayer,
        FunctionResponseBlob,
        FunctionResponseFileData,
        MediaProcessing,
        SpreadsheetMetadata,
        SpreadsheetMetadataContentLayer,
    )
    from mortise_kernel.types.caching import (
        CachedContent,
        CachedContentUsageMetadata,
        CreateCachedContentConfig,
        UpdateCachedContentConfig,
    )
    from mortise_kernel.types.citations import Citation, CitationMetadata, GoogleTypeDate
    from mortise_kernel.types.config import (
        AutomaticFunctionCallingConfig,
        GenerateContentConfig,
        MediaResolution,
        ServiceTier,
        ThinkingConfig,
        ThinkingLevel,
    )
    from mortise_kernel.types.content import Content, FunctionCall, FunctionResponse, ModelContent, Part, UserContent
    from mortise_kernel.types.credentials import (
        ApiAuth,
        ApiAuthApiKeyConfig,
        ApiKeyConfig,
        AuthConfig,
        AuthConfigGoogleServiceAccountConfig,
        AuthConfigHttpBasicAuthConfig,
        AuthConfigOauthConfig,
        AuthConfigOidcConfig,
        AuthType,
        HttpElementLocation,
    )
    from mortise_kernel.types.files import File, FileSource, FileState, FileStatus
    from mortise_kernel.types.formats import (
        AspectRatio,
        AudioResponseFormat,
        Delivery,
        ImageResponseFormat,
        ImageSize,
        ResponseFormat,
        TextResponseFormat,
        VideoResponseFormat,
    )
    from mortise_kernel.types.generation import (
        FeatureSelectionPreference,
        GenerationConfig,
        GenerationConfigRoutingConfig,
        GenerationConfigRoutingConfigAutoRoutingMode,
        GenerationConfigRoutingConfigManualRoutingMode,
        GenerationOutputConfig,
        Modality,
        ModelSelectionConfig,
    )
    from mortise_kernel.types.grounding import (
        GroundingChunk,
        GroundingChunkCustomMetadata,
        GroundingChunkImage,
        GroundingChunkMaps,
        GroundingChunkMapsPlaceAnswerSources,
        GroundingChunkMapsPlaceAnswerSourcesAuthorAttribution,
        GroundingChunkMapsPlaceAnswerSourcesReviewSnippet,
        GroundingChunkMapsRoute,
        GroundingChunkRetrievedContext,
        GroundingChunkStringList,
        GroundingChunkWeb,
        GroundingMetadata,
        GroundingMetadataSourceFlaggingUri,
        GroundingSupport,
        RagChunk,
        RagChunkPageSpan,
        RetrievalMetadata,
        SearchEntryPoint,
        Segment,
    )
    from mortise_kernel.types.hot import FrozenError
    from mortise_kernel.types.http import HttpOptions, HttpResponse, HttpRetryOptions, ResourceScope
    from mortise_kernel.types.images import ImageConfig, ImageConfigImageOutputOptions, ProminentPeople
    from mortise_kernel.types.live import (
        ActivityHandling,
        AutomaticActivityDetection,
        AvatarConfig,
        ContextWindowCompressionConfig,
        CustomizedAvatar,
        EndSensitivity,
        HistoryConfig,
        LiveConnectConfig,
        ProactivityConfig,
        RealtimeInputConfig,
        SessionResumptionConfig,
        SlidingWindow,
        StartSensitivity,
        TurnCoverage,
    )
    from mortise_kernel.types.live_client import (
        ActivityEnd,
        ActivityStart,
        LiveClientContent,
        LiveClientContextUpdate,
        LiveClientContextUpdateTools,
        LiveClientMessage,
        LiveClientRealtimeInput,
        LiveClientSetup,
        LiveClientToolResponse,
        LiveConnectParameters,
    )
    from mortise_kernel.types.live_server import (
        InteractionStatus,
        LiveServerContent,
        LiveServerGoAway,
        LiveServerMessage,
        LiveServerSessionResumptionUpdate,
        LiveServerSetupComplete,
        LiveServerToolCall,
        LiveServerToolCallCancellation,
        VadSignalType,
        VoiceActivity,
        VoiceActivityDetectionSignal,
        VoiceActivityType,
    )
    from mortise_kernel.types.logprobs import LogprobsResult, LogprobsResultCandidate, LogprobsResultTopCandidates
    from mortise_kernel.types.media import (
        Blob,
        CodeExecutionResult,
        ExecutableCode,
        FileData,
        FunctionResponsePart,
        FunctionResponseScheduling,
        Language,
        Outcome,
        PartialArg,
        PartMediaResolution,
        PartMediaResolutionLevel,
        VideoMetadata,
        VideoMetadataContentLayer,
    )
    from mortise_kernel.types.reasons import BlockedReason, FinishReason, TurnCompleteReason
    from mortise_kernel.types.response import (
        Candidate,
        GenerateContentResponse,
        GenerateContentResponsePromptFeedback,
        ModelStage,
        ModelStatus,
        UrlContextMetadata,
        UrlMetadata,
        UrlRetrievalStatus,
    )
    from mortise_kernel.types.retrieval import (
        ApiSpec,
        ExternalApi,
        ExternalApiElasticSearchParams,
        ExternalApiSimpleSearchParams,
        RagRetrievalConfig,
        RagRetrievalConfigFilter,
        RagRetrievalConfigHybridSearch,
        RagRetrievalConfigRanking,
        RagRetrievalConfigRankingLlmRanker,
        RagRetrievalConfigRankingRankService,
        Retrieval,
        VertexAISearch,
        VertexAISearchDataStoreSpec,
        VertexRagStore,
        VertexRagStoreRagResource,
    )
    from mortise_kernel.types.safety import (
        HarmBlockMethod,
        HarmBlockThreshold,
        HarmCategory,
        HarmProbability,
        HarmSeverity,
        ModelArmorConfig,
        SafetyRating,
        SafetySetting,
    )
    from mortise_kernel.types.schema import Schema, Type
    from mortise_kernel.types.server_tools import (
        ComputerUse,
        DynamicRetrievalConfig,
        DynamicRetrievalConfigMode,
        EnterpriseWebSearch,
        Environment,
        FileSearch,
        GoogleMaps,
        GoogleMapsGroundingTypes,
        GoogleMapsPlaces,
        GoogleMapsRouting,
        GoogleSearch,
        GoogleSearchRetrieval,
        ImageSearch,
        Interval,
        McpServer,
        PhishBlockThreshold,
        SafetyPolicy,
        SearchTypes,
        StreamableHttpTransport,
        ToolCodeExecution,
        ToolExaAiSearch,
        ToolParallelAiSearch,
        UrlContext,
        WebSearch,
    )
    from mortise_kernel.types.speech import (
        AudioTranscriptionConfig,
        AudioTranscriptionConfigMode,
        LanguageAuto,
        LanguageHints,
        MultiSpeakerVoiceConfig,
        PrebuiltVoiceConfig,
        ReplicatedVoiceConfig,
        SpeakerVoiceConfig,
        SpeechConfig,
        TranslationConfig,
        VoiceConfig,
        VoiceConsentSignature,
    )
    from mortise_kernel.types.tools import (
        Behavior,
        FunctionCallingConfig,
        FunctionCallingConfigMode,
        FunctionDeclaration,
        LatLng,
        RetrievalConfig,
        Tool,
        ToolConfig,
    )
    from mortise_kernel.types.transcription import Transcription, WordInfo
    from mortise_kernel.types.unions import (
        ContentListUnion,
        ContentListUnionDict,
        ContentUnion,
        ContentUnionDict,
        PartListUnion,
        PartListUnionDict,
        PartUnion,
        PartUnionDict,
        SchemaUnion,
        SchemaUnionDict,
        SpeechConfigUnion,
        SpeechConfigUnionDict,
        ToolListUnion,
        ToolListUnionDict,
        ToolUnion,
        ToolUnionDict,
    )
    from mortise_kernel.types.usage import (
        GenerateContentResponseUsageMetadata,
        MediaModality,
        ModalityTokenCount,
        TrafficType,
        UsageMetadata,
    )
    from mortise_kernel.types.wire import ResponseModel, WireEnum, WireModel

__all__ = [
    "ActivityEnd", "ActivityHandling", "ActivityStart", "ApiAuth", "ApiAuthApiKeyConfig", "ApiKeyConfig", "ApiSpec",
    "AspectRatio", "AudioMetadata", "AudioResponseFormat", "AudioTranscriptionConfig", "AudioTranscriptionConfigMode",
    "AuthConfig", "AuthConfigGoogleServiceAccountConfig", "AuthConfigHttpBasicAuthConfig", "AuthConfigOauthConfig",
    "AuthConfigOidcConfig", "AuthType", "AutomaticActivityDetection", "AutomaticFunctionCallingConfig",
    "AvatarConfig", "Behavior", "Blob", "BlockedReason", "CachedContent", "CachedContentUsageMetadata", "Candidate",
    "Citation", "CitationMetadata", "CodeExecutionResult", "ComputerUse", "Content", "ContentListUnion",
    "ContentListUnionDict", "ContentUnion", "ContentUnionDict", "ContextWindowCompressionConfig",
    "CreateCachedContentConfig", "CustomizedAvatar", "Delivery", "DocumentMetadata", "DocumentMetadataContentLayer",
    "DynamicRetrievalConfig", "DynamicRetrievalConfigMode", "EndSensitivity", "EnterpriseWebSearch", "Environment",
    "ExecutableCode", "ExternalApi", "ExternalApiElasticSearchParams", "ExternalApiSimpleSearchParams",
    "FeatureSelectionPreference", "File", "FileData", "FileSearch", "FileSource", "FileState", "FileStatus",
    "FinishReason", "FrozenError", "FunctionCall", "FunctionCallingConfig", "FunctionCallingConfigMode",
    "FunctionDeclaration", "FunctionResponse", "FunctionResponseBlob", "FunctionResponseFileData",
    "FunctionResponsePart", "FunctionResponseScheduling", "GenerateContentConfig", "GenerateContentResponse",
    "GenerateContentResponsePromptFeedback", "GenerateContentResponseUsageMetadata", "GenerationConfig",
    "GenerationConfigRoutingConfig", "GenerationConfigRoutingConfigAutoRoutingMode",
    "GenerationConfigRoutingConfigManualRoutingMode", "GenerationOutputConfig", "GoogleMaps",
    "GoogleMapsGroundingTypes", "GoogleMapsPlaces", "GoogleMapsRouting", "GoogleSearch", "GoogleSearchRetrieval",
    "GoogleTypeDate", "GroundingChunk", "GroundingChunkCustomMetadata", "GroundingChunkImage", "GroundingChunkMaps",
    "GroundingChunkMapsPlaceAnswerSources", "GroundingChunkMapsPlaceAnswerSourcesAuthorAttribution",
    "GroundingChunkMapsPlaceAnswerSourcesReviewSnippet", "GroundingChunkMapsRoute", "GroundingChunkRetrievedContext",
    "GroundingChunkStringList", "GroundingChunkWeb", "GroundingMetadata", "GroundingMetadataSourceFlaggingUri",
    "GroundingSupport", "HarmBlockMethod", "HarmBlockThreshold", "HarmCategory", "HarmProbability", "HarmSeverity",
    "HistoryConfig", "HttpElementLocation", "HttpOptions", "HttpResponse", "HttpRetryOptions", "ImageConfig",
    "ImageConfigImageOutputOptions", "ImageResponseFormat", "ImageSearch", "ImageSize", "InteractionStatus",
    "Interval", "Language", "LanguageAuto", "LanguageHints", "LatLng", "LiveClientContent", "LiveClientContextUpdate",
    "LiveClientContextUpdateTools", "LiveClientMessage", "LiveClientRealtimeInput", "LiveClientSetup",
    "LiveClientToolResponse", "LiveConnectConfig", "LiveConnectParameters", "LiveServerContent", "LiveServerGoAway",
    "LiveServerMessage", "LiveServerSessionResumptionUpdate", "LiveServerSetupComplete", "LiveServerToolCall",
    "LiveServerToolCallCancellation", "LogprobsResult", "LogprobsResultCandidate", "LogprobsResultTopCandidates",
    "McpServer", "MediaModality", "MediaProcessing", "MediaResolution", "Modality", "ModalityTokenCount",
    "ModelArmorConfig", "ModelContent", "ModelSelectionConfig", "ModelStage", "ModelStatus",
    "MultiSpeakerVoiceConfig", "Outcome", "Part", "PartListUnion", "PartListUnionDict", "PartMediaResolution",
    "PartMediaResolutionLevel", "PartUnion", "PartUnionDict", "PartialArg", "PhishBlockThreshold",
    "PrebuiltVoiceConfig", "ProactivityConfig", "ProminentPeople", "RagChunk", "RagChunkPageSpan",
    "RagRetrievalConfig", "RagRetrievalConfigFilter", "RagRetrievalConfigHybridSearch", "RagRetrievalConfigRanking",
    "RagRetrievalConfigRankingLlmRanker", "RagRetrievalConfigRankingRankService", "RealtimeInputConfig",
    "ReplicatedVoiceConfig", "ResourceScope", "ResponseFormat", "ResponseModel", "Retrieval", "RetrievalConfig",
    "RetrievalMetadata", "SafetyPolicy", "SafetyRating", "SafetySetting", "Schema", "SchemaUnion", "SchemaUnionDict",
    "SearchEntryPoint", "SearchTypes", "Segment", "ServiceTier", "SessionResumptionConfig", "SlidingWindow",
    "SpeakerVoiceConfig", "SpeechConfig", "SpeechConfigUnion", "SpeechConfigUnionDict", "SpreadsheetMetadata",
    "SpreadsheetMetadataContentLayer", "StartSensitivity", "StreamableHttpTransport", "TextResponseFormat",
    "ThinkingConfig", "ThinkingLevel", "Tool", "ToolCodeExecution", "ToolConfig", "ToolExaAiSearch", "ToolListUnion",
    "ToolListUnionDict", "ToolParallelAiSearch", "ToolUnion", "ToolUnionDict", "TrafficType", "Transcription",
    "TranslationConfig", "TurnCompleteReason", "TurnCoverage", "Type", "UpdateCachedContentConfig", "UrlContext",
    "UrlContextMetadata", "UrlMetadata", "UrlRetrievalStatus", "UsageMetadata", "UserContent", "VadSignalType",
    "VertexAISearch", "VertexAISearchDataStoreSpec", "VertexRagStore", "VertexRagStoreRagResource", "VideoMetadata",
    "VideoMetadataContentLayer", "VideoResponseFormat", "VoiceActivity", "VoiceActivityDetectionSignal",
    "VoiceActivityType", "VoiceConfig", "VoiceConsentSignature", "WebSearch", "WireEnum", "WireModel", "WordInfo",
]

_MODULES = {
    "attachments": (
        "AudioMetadata DocumentMetadata DocumentMetadataContentLayer FunctionResponseBlob "
        "FunctionResponseFileData MediaProcessing SpreadsheetMetadata SpreadsheetMetadataContentLayer"
    ),
    "caching": "CachedContent CachedContentUsageMetadata CreateCachedContentConfig UpdateCachedContentConfig",
    "citations": "Citation CitationMetadata GoogleTypeDate",
    "config": (
        "AutomaticFunctionCallingConfig GenerateContentConfig MediaResolution ServiceTier ThinkingConfig "
        "ThinkingLevel"
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


def __getattr__(name: str) -> Any:
    module = _MODULE_OF.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"{__name__}.{module}"), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
