"""The types of the package, for type checkers; `__init__.py` loads each when it is first used."""

from mortise_kernel.types.attachments import (
    AudioMetadata as AudioMetadata,
)
from mortise_kernel.types.attachments import (
    DocumentMetadata as DocumentMetadata,
)
from mortise_kernel.types.attachments import (
    DocumentMetadataContentLayer as DocumentMetadataContentLayer,
)
from mortise_kernel.types.attachments import (
    FunctionResponseBlob as FunctionResponseBlob,
)
from mortise_kernel.types.attachments import (
    FunctionResponseFileData as FunctionResponseFileData,
)
from mortise_kernel.types.attachments import (
    MediaProcessing as MediaProcessing,
)
from mortise_kernel.types.attachments import (
    SpreadsheetMetadata as SpreadsheetMetadata,
)
from mortise_kernel.types.attachments import (
    SpreadsheetMetadataContentLayer as SpreadsheetMetadataContentLayer,
)
from mortise_kernel.types.caching import (
    CachedContent as CachedContent,
)
from mortise_kernel.types.caching import (
    CachedContentUsageMetadata as CachedContentUsageMetadata,
)
from mortise_kernel.types.caching import (
    CreateCachedContentConfig as CreateCachedContentConfig,
)
from mortise_kernel.types.caching import (
    UpdateCachedContentConfig as UpdateCachedContentConfig,
)
from mortise_kernel.types.citations import (
    Citation as Citation,
)
from mortise_kernel.types.citations import (
    CitationMetadata as CitationMetadata,
)
from mortise_kernel.types.citations import (
    GoogleTypeDate as GoogleTypeDate,
)
from mortise_kernel.types.config import (
    AutomaticFunctionCallingConfig as AutomaticFunctionCallingConfig,
)
from mortise_kernel.types.config import (
    GenerateContentConfig as GenerateContentConfig,
)
from mortise_kernel.types.config import (
    MediaResolution as MediaResolution,
)
from mortise_kernel.types.config import (
    ServiceTier as ServiceTier,
)
from mortise_kernel.types.config import (
    ThinkingConfig as ThinkingConfig,
)
from mortise_kernel.types.config import (
    ThinkingLevel as ThinkingLevel,
)
from mortise_kernel.types.content import (
    Content as Content,
)
from mortise_kernel.types.content import (
    FunctionCall as FunctionCall,
)
from mortise_kernel.types.content import (
    FunctionResponse as FunctionResponse,
)
from mortise_kernel.types.content import (
    ModelContent as ModelContent,
)
from mortise_kernel.types.content import (
    Part as Part,
)
from mortise_kernel.types.content import (
    UserContent as UserContent,
)
from mortise_kernel.types.credentials import (
    ApiAuth as ApiAuth,
)
from mortise_kernel.types.credentials import (
    ApiAuthApiKeyConfig as ApiAuthApiKeyConfig,
)
from mortise_kernel.types.credentials import (
    ApiKeyConfig as ApiKeyConfig,
)
from mortise_kernel.types.credentials import (
    AuthConfig as AuthConfig,
)
from mortise_kernel.types.credentials import (
    AuthConfigGoogleServiceAccountConfig as AuthConfigGoogleServiceAccountConfig,
)
from mortise_kernel.types.credentials import (
    AuthConfigHttpBasicAuthConfig as AuthConfigHttpBasicAuthConfig,
)
from mortise_kernel.types.credentials import (
    AuthConfigOauthConfig as AuthConfigOauthConfig,
)
from mortise_kernel.types.credentials import (
    AuthConfigOidcConfig as AuthConfigOidcConfig,
)
from mortise_kernel.types.credentials import (
    AuthType as AuthType,
)
from mortise_kernel.types.credentials import (
    HttpElementLocation as HttpElementLocation,
)
from mortise_kernel.types.files import (
    File as File,
)
from mortise_kernel.types.files import (
    FileSource as FileSource,
)
from mortise_kernel.types.files import (
    FileState as FileState,
)
from mortise_kernel.types.files import (
    FileStatus as FileStatus,
)
from mortise_kernel.types.formats import (
    AspectRatio as AspectRatio,
)
from mortise_kernel.types.formats import (
    AudioResponseFormat as AudioResponseFormat,
)
from mortise_kernel.types.formats import (
    Delivery as Delivery,
)
from mortise_kernel.types.formats import (
    ImageResponseFormat as ImageResponseFormat,
)
from mortise_kernel.types.formats import (
    ImageSize as ImageSize,
)
from mortise_kernel.types.formats import (
    ResponseFormat as ResponseFormat,
)
from mortise_kernel.types.formats import (
    TextResponseFormat as TextResponseFormat,
)
from mortise_kernel.types.formats import (
    VideoResponseFormat as VideoResponseFormat,
)
from mortise_kernel.types.generation import (
    FeatureSelectionPreference as FeatureSelectionPreference,
)
from mortise_kernel.types.generation import (
    GenerationConfig as GenerationConfig,
)
from mortise_kernel.types.generation import (
    GenerationConfigRoutingConfig as GenerationConfigRoutingConfig,
)
from mortise_kernel.types.generation import (
    GenerationConfigRoutingConfigAutoRoutingMode as GenerationConfigRoutingConfigAutoRoutingMode,
)
from mortise_kernel.types.generation import (
    GenerationConfigRoutingConfigManualRoutingMode as GenerationConfigRoutingConfigManualRoutingMode,
)
from mortise_kernel.types.generation import (
    GenerationOutputConfig as GenerationOutputConfig,
)
from mortise_kernel.types.generation import (
    Modality as Modality,
)
from mortise_kernel.types.generation import (
    ModelSelectionConfig as ModelSelectionConfig,
)
from mortise_kernel.types.grounding import (
    GroundingChunk as GroundingChunk,
)
from mortise_kernel.types.grounding import (
    GroundingChunkCustomMetadata as GroundingChunkCustomMetadata,
)
from mortise_kernel.types.grounding import (
    GroundingChunkImage as GroundingChunkImage,
)
from mortise_kernel.types.grounding import (
    GroundingChunkMaps as GroundingChunkMaps,
)
from mortise_kernel.types.grounding import (
    GroundingChunkMapsPlaceAnswerSources as GroundingChunkMapsPlaceAnswerSources,
)
from mortise_kernel.types.grounding import (
    GroundingChunkMapsPlaceAnswerSourcesAuthorAttribution as GroundingChunkMapsPlaceAnswerSourcesAuthorAttribution,
)
from mortise_kernel.types.grounding import (
    GroundingChunkMapsPlaceAnswerSourcesReviewSnippet as GroundingChunkMapsPlaceAnswerSourcesReviewSnippet,
)
from mortise_kernel.types.grounding import (
    GroundingChunkMapsRoute as GroundingChunkMapsRoute,
)
from mortise_kernel.types.grounding import (
    GroundingChunkRetrievedContext as GroundingChunkRetrievedContext,
)
from mortise_kernel.types.grounding import (
    GroundingChunkStringList as GroundingChunkStringList,
)
from mortise_kernel.types.grounding import (
    GroundingChunkWeb as GroundingChunkWeb,
)
from mortise_kernel.types.grounding import (
    GroundingMetadata as GroundingMetadata,
)
from mortise_kernel.types.grounding import (
    GroundingMetadataSourceFlaggingUri as GroundingMetadataSourceFlaggingUri,
)
from mortise_kernel.types.grounding import (
    GroundingSupport as GroundingSupport,
)
from mortise_kernel.types.grounding import (
    RagChunk as RagChunk,
)
from mortise_kernel.types.grounding import (
    RagChunkPageSpan as RagChunkPageSpan,
)
from mortise_kernel.types.grounding import (
    RetrievalMetadata as RetrievalMetadata,
)
from mortise_kernel.types.grounding import (
    SearchEntryPoint as SearchEntryPoint,
)
from mortise_kernel.types.grounding import (
    Segment as Segment,
)
from mortise_kernel.types.hot import (
    FrozenError as FrozenError,
)
from mortise_kernel.types.http import (
    HttpOptions as HttpOptions,
)
from mortise_kernel.types.http import (
    HttpResponse as HttpResponse,
)
from mortise_kernel.types.http import (
    HttpRetryOptions as HttpRetryOptions,
)
from mortise_kernel.types.http import (
    ResourceScope as ResourceScope,
)
from mortise_kernel.types.images import (
    ImageConfig as ImageConfig,
)
from mortise_kernel.types.images import (
    ImageConfigImageOutputOptions as ImageConfigImageOutputOptions,
)
from mortise_kernel.types.images import (
    ProminentPeople as ProminentPeople,
)
from mortise_kernel.types.live import (
    ActivityHandling as ActivityHandling,
)
from mortise_kernel.types.live import (
    AutomaticActivityDetection as AutomaticActivityDetection,
)
from mortise_kernel.types.live import (
    AvatarConfig as AvatarConfig,
)
from mortise_kernel.types.live import (
    ContextWindowCompressionConfig as ContextWindowCompressionConfig,
)
from mortise_kernel.types.live import (
    CustomizedAvatar as CustomizedAvatar,
)
from mortise_kernel.types.live import (
    EndSensitivity as EndSensitivity,
)
from mortise_kernel.types.live import (
    HistoryConfig as HistoryConfig,
)
from mortise_kernel.types.live import (
    LiveConnectConfig as LiveConnectConfig,
)
from mortise_kernel.types.live import (
    ProactivityConfig as ProactivityConfig,
)
from mortise_kernel.types.live import (
    RealtimeInputConfig as RealtimeInputConfig,
)
from mortise_kernel.types.live import (
    SessionResumptionConfig as SessionResumptionConfig,
)
from mortise_kernel.types.live import (
    SlidingWindow as SlidingWindow,
)
from mortise_kernel.types.live import (
    StartSensitivity as StartSensitivity,
)
from mortise_kernel.types.live import (
    TurnCoverage as TurnCoverage,
)
from mortise_kernel.types.live_client import (
    ActivityEnd as ActivityEnd,
)
from mortise_kernel.types.live_client import (
    ActivityStart as ActivityStart,
)
from mortise_kernel.types.live_client import (
    LiveClientContent as LiveClientContent,
)
from mortise_kernel.types.live_client import (
    LiveClientContextUpdate as LiveClientContextUpdate,
)
from mortise_kernel.types.live_client import (
    LiveClientContextUpdateTools as LiveClientContextUpdateTools,
)
from mortise_kernel.types.live_client import (
    LiveClientMessage as LiveClientMessage,
)
from mortise_kernel.types.live_client import (
    LiveClientRealtimeInput as LiveClientRealtimeInput,
)
from mortise_kernel.types.live_client import (
    LiveClientSetup as LiveClientSetup,
)
from mortise_kernel.types.live_client import (
    LiveClientToolResponse as LiveClientToolResponse,
)
from mortise_kernel.types.live_client import (
    LiveConnectParameters as LiveConnectParameters,
)
from mortise_kernel.types.live_server import (
    InteractionStatus as InteractionStatus,
)
from mortise_kernel.types.live_server import (
    LiveServerContent as LiveServerContent,
)
from mortise_kernel.types.live_server import (
    LiveServerGoAway as LiveServerGoAway,
)
from mortise_kernel.types.live_server import (
    LiveServerMessage as LiveServerMessage,
)
from mortise_kernel.types.live_server import (
    LiveServerSessionResumptionUpdate as LiveServerSessionResumptionUpdate,
)
from mortise_kernel.types.live_server import (
    LiveServerSetupComplete as LiveServerSetupComplete,
)
from mortise_kernel.types.live_server import (
    LiveServerToolCall as LiveServerToolCall,
)
from mortise_kernel.types.live_server import (
    LiveServerToolCallCancellation as LiveServerToolCallCancellation,
)
from mortise_kernel.types.live_server import (
    VadSignalType as VadSignalType,
)
from mortise_kernel.types.live_server import (
    VoiceActivity as VoiceActivity,
)
from mortise_kernel.types.live_server import (
    VoiceActivityDetectionSignal as VoiceActivityDetectionSignal,
)
from mortise_kernel.types.live_server import (
    VoiceActivityType as VoiceActivityType,
)
from mortise_kernel.types.logprobs import (
    LogprobsResult as LogprobsResult,
)
from mortise_kernel.types.logprobs import (
    LogprobsResultCandidate as LogprobsResultCandidate,
)
from mortise_kernel.types.logprobs import (
    LogprobsResultTopCandidates as LogprobsResultTopCandidates,
)
from mortise_kernel.types.media import (
    Blob as Blob,
)
from mortise_kernel.types.media import (
    CodeExecutionResult as CodeExecutionResult,
)
from mortise_kernel.types.media import (
    ExecutableCode as ExecutableCode,
)
from mortise_kernel.types.media import (
    FileData as FileData,
)
from mortise_kernel.types.media import (
    FunctionResponsePart as FunctionResponsePart,
)
from mortise_kernel.types.media import (
    FunctionResponseScheduling as FunctionResponseScheduling,
)
from mortise_kernel.types.media import (
    Language as Language,
)
from mortise_kernel.types.media import (
    Outcome as Outcome,
)
from mortise_kernel.types.media import (
    PartialArg as PartialArg,
)
from mortise_kernel.types.media import (
    PartMediaResolution as PartMediaResolution,
)
from mortise_kernel.types.media import (
    PartMediaResolutionLevel as PartMediaResolutionLevel,
)
from mortise_kernel.types.media import (
    VideoMetadata as VideoMetadata,
)
from mortise_kernel.types.media import (
    VideoMetadataContentLayer as VideoMetadataContentLayer,
)
from mortise_kernel.types.reasons import (
    BlockedReason as BlockedReason,
)
from mortise_kernel.types.reasons import (
    FinishReason as FinishReason,
)
from mortise_kernel.types.reasons import (
    TurnCompleteReason as TurnCompleteReason,
)
from mortise_kernel.types.response import (
    Candidate as Candidate,
)
from mortise_kernel.types.response import (
    GenerateContentResponse as GenerateContentResponse,
)
from mortise_kernel.types.response import (
    GenerateContentResponsePromptFeedback as GenerateContentResponsePromptFeedback,
)
from mortise_kernel.types.response import (
    ModelStage as ModelStage,
)
from mortise_kernel.types.response import (
    ModelStatus as ModelStatus,
)
from mortise_kernel.types.response import (
    UrlContextMetadata as UrlContextMetadata,
)
from mortise_kernel.types.response import (
    UrlMetadata as UrlMetadata,
)
from mortise_kernel.types.response import (
    UrlRetrievalStatus as UrlRetrievalStatus,
)
from mortise_kernel.types.retrieval import (
    ApiSpec as ApiSpec,
)
from mortise_kernel.types.retrieval import (
    ExternalApi as ExternalApi,
)
from mortise_kernel.types.retrieval import (
    ExternalApiElasticSearchParams as ExternalApiElasticSearchParams,
)
from mortise_kernel.types.retrieval import (
    ExternalApiSimpleSearchParams as ExternalApiSimpleSearchParams,
)
from mortise_kernel.types.retrieval import (
    RagRetrievalConfig as RagRetrievalConfig,
)
from mortise_kernel.types.retrieval import (
    RagRetrievalConfigFilter as RagRetrievalConfigFilter,
)
from mortise_kernel.types.retrieval import (
    RagRetrievalConfigHybridSearch as RagRetrievalConfigHybridSearch,
)
from mortise_kernel.types.retrieval import (
    RagRetrievalConfigRanking as RagRetrievalConfigRanking,
)
from mortise_kernel.types.retrieval import (
    RagRetrievalConfigRankingLlmRanker as RagRetrievalConfigRankingLlmRanker,
)
from mortise_kernel.types.retrieval import (
    RagRetrievalConfigRankingRankService as RagRetrievalConfigRankingRankService,
)
from mortise_kernel.types.retrieval import (
    Retrieval as Retrieval,
)
from mortise_kernel.types.retrieval import (
    VertexAISearch as VertexAISearch,
)
from mortise_kernel.types.retrieval import (
    VertexAISearchDataStoreSpec as VertexAISearchDataStoreSpec,
)
from mortise_kernel.types.retrieval import (
    VertexRagStore as VertexRagStore,
)
from mortise_kernel.types.retrieval import (
    VertexRagStoreRagResource as VertexRagStoreRagResource,
)
from mortise_kernel.types.safety import (
    HarmBlockMethod as HarmBlockMethod,
)
from mortise_kernel.types.safety import (
    HarmBlockThreshold as HarmBlockThreshold,
)
from mortise_kernel.types.safety import (
    HarmCategory as HarmCategory,
)
from mortise_kernel.types.safety import (
    HarmProbability as HarmProbability,
)
from mortise_kernel.types.safety import (
    HarmSeverity as HarmSeverity,
)
from mortise_kernel.types.safety import (
    ModelArmorConfig as ModelArmorConfig,
)
from mortise_kernel.types.safety import (
    SafetyRating as SafetyRating,
)
from mortise_kernel.types.safety import (
    SafetySetting as SafetySetting,
)
from mortise_kernel.types.schema import (
    Schema as Schema,
)
from mortise_kernel.types.schema import (
    Type as Type,
)
from mortise_kernel.types.server_tools import (
    ComputerUse as ComputerUse,
)
from mortise_kernel.types.server_tools import (
    DynamicRetrievalConfig as DynamicRetrievalConfig,
)
from mortise_kernel.types.server_tools import (
    DynamicRetrievalConfigMode as DynamicRetrievalConfigMode,
)
from mortise_kernel.types.server_tools import (
    EnterpriseWebSearch as EnterpriseWebSearch,
)
from mortise_kernel.types.server_tools import (
    Environment as Environment,
)
from mortise_kernel.types.server_tools import (
    FileSearch as FileSearch,
)
from mortise_kernel.types.server_tools import (
    GoogleMaps as GoogleMaps,
)
from mortise_kernel.types.server_tools import (
    GoogleMapsGroundingTypes as GoogleMapsGroundingTypes,
)
from mortise_kernel.types.server_tools import (
    GoogleMapsPlaces as GoogleMapsPlaces,
)
from mortise_kernel.types.server_tools import (
    GoogleMapsRouting as GoogleMapsRouting,
)
from mortise_kernel.types.server_tools import (
    GoogleSearch as GoogleSearch,
)
from mortise_kernel.types.server_tools import (
    GoogleSearchRetrieval as GoogleSearchRetrieval,
)
from mortise_kernel.types.server_tools import (
    ImageSearch as ImageSearch,
)
from mortise_kernel.types.server_tools import (
    Interval as Interval,
)
from mortise_kernel.types.server_tools import (
    McpServer as McpServer,
)
from mortise_kernel.types.server_tools import (
    PhishBlockThreshold as PhishBlockThreshold,
)
from mortise_kernel.types.server_tools import (
    SafetyPolicy as SafetyPolicy,
)
from mortise_kernel.types.server_tools import (
    SearchTypes as SearchTypes,
)
from mortise_kernel.types.server_tools import (
    StreamableHttpTransport as StreamableHttpTransport,
)
from mortise_kernel.types.server_tools import (
    ToolCodeExecution as ToolCodeExecution,
)
from mortise_kernel.types.server_tools import (
    ToolExaAiSearch as ToolExaAiSearch,
)
from mortise_kernel.types.server_tools import (
    ToolParallelAiSearch as ToolParallelAiSearch,
)
from mortise_kernel.types.server_tools import (
    UrlContext as UrlContext,
)
from mortise_kernel.types.server_tools import (
    WebSearch as WebSearch,
)
from mortise_kernel.types.speech import (
    AudioTranscriptionConfig as AudioTranscriptionConfig,
)
from mortise_kernel.types.speech import (
    AudioTranscriptionConfigMode as AudioTranscriptionConfigMode,
)
from mortise_kernel.types.speech import (
    LanguageAuto as LanguageAuto,
)
from mortise_kernel.types.speech import (
    LanguageHints as LanguageHints,
)
from mortise_kernel.types.speech import (
    MultiSpeakerVoiceConfig as MultiSpeakerVoiceConfig,
)
from mortise_kernel.types.speech import (
    PrebuiltVoiceConfig as PrebuiltVoiceConfig,
)
from mortise_kernel.types.speech import (
    ReplicatedVoiceConfig as ReplicatedVoiceConfig,
)
from mortise_kernel.types.speech import (
    SpeakerVoiceConfig as SpeakerVoiceConfig,
)
from mortise_kernel.types.speech import (
    SpeechConfig as SpeechConfig,
)
from mortise_kernel.types.speech import (
    TranslationConfig as TranslationConfig,
)
from mortise_kernel.types.speech import (
    VoiceConfig as VoiceConfig,
)
from mortise_kernel.types.speech import (
    VoiceConsentSignature as VoiceConsentSignature,
)
from mortise_kernel.types.tools import (
    Behavior as Behavior,
)
from mortise_kernel.types.tools import (
    FunctionCallingConfig as FunctionCallingConfig,
)
from mortise_kernel.types.tools import (
    FunctionCallingConfigMode as FunctionCallingConfigMode,
)
from mortise_kernel.types.tools import (
    FunctionDeclaration as FunctionDeclaration,
)
from mortise_kernel.types.tools import (
    LatLng as LatLng,
)
from mortise_kernel.types.tools import (
    RetrievalConfig as RetrievalConfig,
)
from mortise_kernel.types.tools import (
    Tool as Tool,
)
from mortise_kernel.types.tools import (
    ToolConfig as ToolConfig,
)
from mortise_kernel.types.transcription import (
    Transcription as Transcription,
)
from mortise_kernel.types.transcription import (
    WordInfo as WordInfo,
)
from mortise_kernel.types.unions import (
    ContentListUnion as ContentListUnion,
)
from mortise_kernel.types.unions import (
    ContentListUnionDict as ContentListUnionDict,
)
from mortise_kernel.types.unions import (
    ContentUnion as ContentUnion,
)
from mortise_kernel.types.unions import (
    ContentUnionDict as ContentUnionDict,
)
from mortise_kernel.types.unions import (
    PartListUnion as PartListUnion,
)
from mortise_kernel.types.unions import (
    PartListUnionDict as PartListUnionDict,
)
from mortise_kernel.types.unions import (
    PartUnion as PartUnion,
)
from mortise_kernel.types.unions import (
    PartUnionDict as PartUnionDict,
)
from mortise_kernel.types.unions import (
    SchemaUnion as SchemaUnion,
)
from mortise_kernel.types.unions import (
    SchemaUnionDict as SchemaUnionDict,
)
from mortise_kernel.types.unions import (
    SpeechConfigUnion as SpeechConfigUnion,
)
from mortise_kernel.types.unions import (
    SpeechConfigUnionDict as SpeechConfigUnionDict,
)
from mortise_kernel.types.unions import (
    ToolListUnion as ToolListUnion,
)
from mortise_kernel.types.unions import (
    ToolListUnionDict as ToolListUnionDict,
)
from mortise_kernel.types.unions import (
    ToolUnion as ToolUnion,
)
from mortise_kernel.types.unions import (
    ToolUnionDict as ToolUnionDict,
)
from mortise_kernel.types.usage import (
    GenerateContentResponseUsageMetadata as GenerateContentResponseUsageMetadata,
)
from mortise_kernel.types.usage import (
    MediaModality as MediaModality,
)
from mortise_kernel.types.usage import (
    ModalityTokenCount as ModalityTokenCount,
)
from mortise_kernel.types.usage import (
    TrafficType as TrafficType,
)
from mortise_kernel.types.usage import (
    UsageMetadata as UsageMetadata,
)
from mortise_kernel.types.wire import (
    ResponseModel as ResponseModel,
)
from mortise_kernel.types.wire import (
    WireEnum as WireEnum,
)
from mortise_kernel.types.wire import (
    WireModel as WireModel,
)
