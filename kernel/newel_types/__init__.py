"""Content types: JSON-compatible in both directions with the classes of the same name in ``google.genai.types``.

The package also has the types of credentials and the base of its records. `__all__` lists all public names; the
modules are private. A name is imported from its module when it is first used (PEP 562), so an ordinary text turn
pays for the few types it needs and not for the live API, grounding or retrieval.
"""

from __future__ import annotations

from collections.abc import Mapping

from newel_types.exports import lazy_exports

#: Module -> the names of `google.genai.types` that it holds.
_GENAI = {
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
    "tool_config": "FunctionCallingConfig FunctionCallingConfigMode LatLng RetrievalConfig ToolConfig",
    "tools": "Behavior FunctionDeclaration Tool",
    "transcription": "Transcription WordInfo",
    "unions": (
        "ContentListUnion ContentListUnionDict ContentUnion ContentUnionDict PartListUnion PartListUnionDict "
        "PartUnion PartUnionDict SchemaUnion SchemaUnionDict SpeechConfigUnion SpeechConfigUnionDict "
        "ToolListUnion ToolListUnionDict ToolUnion ToolUnionDict"
    ),
    "usage": "GenerateContentResponseUsageMetadata MediaModality ModalityTokenCount TrafficType UsageMetadata",
    "wire": "ResponseModel WireEnum WireModel",
}
#: Module -> its names that `google.genai.types` does not have.
_OWN = {
    "auth": (
        "ApiKey AuthConfig AuthCredential AuthCredentialTypes AuthToolArguments HttpAuth HttpCredentials OAuth2Auth "
        "SECRET ServiceAccount ServiceAccountCredential"
    ),
    "auth_schemes": (
        "APIKey APIKeyIn ApiKeyScheme AuthScheme AuthSchemeType CustomAuthScheme ExtendedOAuth2 HTTPBase HTTPBearer "
        "OAuth2 OAuthFlow OAuthFlowAuthorizationCode OAuthFlowClientCredentials OAuthFlowImplicit OAuthFlowPassword "
        "OAuthFlows OAuthGrantType OpenIdConnect OpenIdConnectWithConfig SecurityBase SecurityScheme "
        "SecuritySchemeType"
    ),
    "cache_metadata": "CacheMetadata",
    "deprecation": "API ApiDeprecationWarning collected_uses warn_deprecated",
    "exports": "deferred lazy_exports",
    "field_errors": "FieldError OneLineErrors",
    "instructions": "own_tools texts_of",
    "lazy_field": "FrozenEmptyDict UnmadeFields lazy",
    "model_plugins": "read_model_plugins",
    "places": "caller_place made_at",
    "records": "ATOMS FrozenError Record as_plain coerce deep_copy forbid_extra record",
    "secret_names": "names_secret",
    "sharing": "FrozenContent SharedContents freeze is_text thaw",
    "signatures": "FieldSignature",
    "sparse": "SparseValues set_sparse",
    "texts": "well_formed",
    "wire": "late",
}


def _places(modules: Mapping[str, str]) -> dict[str, str]:
    return {name: f"{__name__}.{module}" for module, names in modules.items() for name in names.split()}


_GENAI_PLACES = _places(_GENAI)
#: The names that `google.genai.types` has, too, for a module that mirrors it.
GENAI_NAMES = tuple(sorted(_GENAI_PLACES))
#: `AuthConfig` is the one for tools here; google-genai has another class of that name, for its server-side tools.
_PLACES = _GENAI_PLACES | {"GenaiAuthConfig": "newel_types.credentials"} | _places(_OWN)
__all__ = sorted([*_PLACES, "GENAI_NAMES"])
#: Errors are told with a line of the code that newel calls, not with one of this package.
__tracebackhide__ = True

__getattr__, __dir__ = lazy_exports(__name__, _PLACES)
