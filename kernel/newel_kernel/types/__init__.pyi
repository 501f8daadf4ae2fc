"""The types of the package, for type checkers; `__init__.py` loads each when it is first used."""

from newel_kernel.types.attachments import (
    AudioMetadata as AudioMetadata,
)
from newel_kernel.types.attachments import (
    DocumentMetadata as DocumentMetadata,
)
from newel_kernel.types.attachments import (
    DocumentMetadataContentLayer as DocumentMetadataContentLayer,
)
from newel_kernel.types.attachments import (
    FunctionResponseBlob as FunctionResponseBlob,
)
from newel_kernel.types.attachments import (
    FunctionResponseFileData as FunctionResponseFileData,
)
from newel_kernel.types.attachments import (
    MediaProcessing as MediaProcessing,
)
from newel_kernel.types.attachments import (
    SpreadsheetMetadata as SpreadsheetMetadata,
)
from newel_kernel.types.attachments import (
    SpreadsheetMetadataContentLayer as SpreadsheetMetadataContentLayer,
)
from newel_kernel.types.caching import (
    CachedContent as CachedContent,
)
from newel_kernel.types.caching import (
    CachedContentUsageMetadata as CachedContentUsageMetadata,
)
from newel_kernel.types.caching import (
    CreateCachedContentConfig as CreateCachedContentConfig,
)
from newel_kernel.types.caching import (
    UpdateCachedContentConfig as UpdateCachedContentConfig,
)
from newel_kernel.types.citations import (
    Citation as Citation,
)
from newel_kernel.types.citations import (
    CitationMetadata as CitationMetadata,
)
from newel_kernel.types.citations import (
    GoogleTypeDate as GoogleTypeDate,
)
from newel_kernel.types.config import (
    AutomaticFunctionCallingConfig as AutomaticFunctionCallingConfig,
)
from newel_kernel.types.config import (
    GenerateContentConfig as GenerateContentConfig,
)
from newel_kernel.types.config import (
    MediaResolution as MediaResolution,
)
from newel_kernel.types.config import (
    ServiceTier as ServiceTier,
)
from newel_kernel.types.config import (
    ThinkingConfig as ThinkingConfig,
)
from newel_kernel.types.config import (
    ThinkingLevel as ThinkingLevel,
)
from newel_kernel.types.content import (
    Content as Content,
)
from newel_kernel.types.content import (
    FunctionCall as FunctionCall,
)
from newel_kernel.types.content import (
    FunctionResponse as FunctionResponse,
)
from newel_kernel.types.content import (
    ModelContent as ModelContent,
)
from newel_kernel.types.content import (
    Part as Part,
)
from newel_kernel.types.content import (
    UserContent as UserContent,
)
from newel_kernel.types.credentials import (
    ApiAuth as ApiAuth,
)
from newel_kernel.types.credentials import (
    ApiAuthApiKeyConfig as ApiAuthApiKeyConfig,
)
from newel_kernel.types.credentials import (
    ApiKeyConfig as ApiKeyConfig,
)
from newel_kernel.types.credentials import (
    AuthConfig as AuthConfig,
)
from newel_kernel.types.credentials import (
    AuthConfigGoogleServiceAccountConfig as AuthConfigGoogleServiceAccountConfig,
)
from newel_kernel.types.credentials import (
    AuthConfigHttpBasicAuthConfig as AuthConfigHttpBasicAuthConfig,
)
from newel_kernel.types.credentials import (
    AuthConfigOauthConfig as AuthConfigOauthConfig,
)
from newel_kernel.types.credentials import (
    AuthConfigOidcConfig as AuthConfigOidcConfig,
)
from newel_kernel.types.credentials import (
    AuthType as AuthType,
)
from newel_kernel.types.credentials import (
    HttpElementLocation as HttpElementLocation,
)
from newel_kernel.types.files import (
    File as File,
)
from newel_kernel.types.files import (
    FileSource as FileSource,
)
from newel_kernel.types.files import (
    FileState as FileState,
)
from newel_kernel.types.files import (
    FileStatus as FileStatus,
)
from newel_kernel.types.formats import (
    AspectRatio as AspectRatio,
)
from newel_kernel.types.formats import (
    AudioResponseFormat as AudioResponseFormat,
)
from newel_kernel.types.formats import (
    Delivery as Delivery,
)
from newel_kernel.types.formats import (
    ImageResponseFormat as ImageResponseFormat,
)
from newel_kernel.types.formats import (
    ImageSize as ImageSize,
)
from newel_kernel.types.formats import (
    ResponseFormat as ResponseFormat,
)
from newel_kernel.types.formats import (
    TextResponseFormat as TextResponseFormat,
)
from newel_kernel.types.formats import (
    VideoResponseFormat as VideoResponseFormat,
)
from newel_kernel.types.generation import (
    FeatureSelectionPreference as FeatureSelectionPreference,
)
from newel_kernel.types.generation import (
    GenerationConfig as GenerationConfig,
)
from newel_kernel.types.generation import (
    GenerationConfigRoutingConfig as GenerationConfigRoutingConfig,
)
from newel_kernel.types.generation import (
    GenerationConfigRoutingConfigAutoRoutingMode as GenerationConfigRoutingConfigAutoRoutingMode,
)
from newel_kernel.types.generation import (
    GenerationConfigRoutingConfigManualRoutingMode as GenerationConfigRoutingConfigManualRoutingMode,
)
from newel_kernel.types.generation import (
    GenerationOutputConfig as GenerationOutputConfig,
)
from newel_kernel.types.generation import (
    Modality as Modality,
)
from newel_kernel.types.generation import (
    ModelSelectionConfig as ModelSelectionConfig,
)
from newel_kernel.types.grounding import (
    GroundingChunk as GroundingChunk,
)
from newel_kernel.types.grounding import (
    GroundingChunkCustomMetadata as GroundingChunkCustomMetadata,
)
from newel_kernel.types.grounding import (
    GroundingChunkImage as GroundingChunkImage,
)
from newel_kernel.types.grounding import (
    GroundingChunkMaps as GroundingChunkMaps,
)
from newel_kernel.types.grounding import (
    GroundingChunkMapsPlaceAnswerSources as GroundingChunkMapsPlaceAnswerSources,
)
from newel_kernel.types.grounding import (
    GroundingChunkMapsPlaceAnswerSourcesAuthorAttribution as GroundingChunkMapsPlaceAnswerSourcesAuthorAttribution,
)
from newel_kernel.types.grounding import (
    GroundingChunkMapsPlaceAnswerSourcesReviewSnippet as GroundingChunkMapsPlaceAnswerSourcesReviewSnippet,
)
from newel_kernel.types.grounding import (
    GroundingChunkMapsRoute as GroundingChunkMapsRoute,
)
from newel_kernel.types.grounding import (
    GroundingChunkRetrievedContext as GroundingChunkRetrievedContext,
)
from newel_kernel.types.grounding import (
    GroundingChunkStringList as GroundingChunkStringList,
)
from newel_kernel.types.grounding import (
    GroundingChunkWeb as GroundingChunkWeb,
)
from newel_kernel.types.grounding import (
    GroundingMetadata as GroundingMetadata,
)
from newel_kernel.types.grounding import (
    GroundingMetadataSourceFlaggingUri as GroundingMetadataSourceFlaggingUri,
)
from newel_kernel.types.grounding import (
    GroundingSupport as GroundingSupport,
)
from newel_kernel.types.grounding import (
    RagChunk as RagChunk,
)
from newel_kernel.types.grounding import (
    RagChunkPageSpan as RagChunkPageSpan,
)
from newel_kernel.types.grounding import (
    RetrievalMetadata as RetrievalMetadata,
)
from newel_kernel.types.grounding import (
    SearchEntryPoint as SearchEntryPoint,
)
from newel_kernel.types.grounding import (
    Segment as Segment,
)
from newel_kernel.types.hot import (
    FrozenError as FrozenError,
)
from newel_kernel.types.http import (
    HttpOptions as HttpOptions,
)
from newel_kernel.types.http import (
    HttpResponse as HttpResponse,
)
from newel_kernel.types.http import (
    HttpRetryOptions as HttpRetryOptions,
)
from newel_kernel.types.http import (
    ResourceScope as ResourceScope,
)
from newel_kernel.types.images import (
    ImageConfig as ImageConfig,
)
from newel_kernel.types.images import (
    ImageConfigImageOutputOptions as ImageConfigImageOutputOptions,
)
from newel_kernel.types.images import (
    ProminentPeople as ProminentPeople,
)
from newel_kernel.types.live import (
    ActivityHandling as ActivityHandling,
)
from newel_kernel.types.live import (
    AutomaticActivityDetection as AutomaticActivityDetection,
)
from newel_kernel.types.live import (
    AvatarConfig as AvatarConfig,
)
from newel_kernel.types.live import (
    ContextWindowCompressionConfig as ContextWindowCompressionConfig,
)
from newel_kernel.types.live import (
    CustomizedAvatar as CustomizedAvatar,
)
from newel_kernel.types.live import (
    EndSensitivity as EndSensitivity,
)
from newel_kernel.types.live import (
    HistoryConfig as HistoryConfig,
)
from newel_kernel.types.live import (
    LiveConnectConfig as LiveConnectConfig,
)
from newel_kernel.types.live import (
    ProactivityConfig as ProactivityConfig,
)
from newel_kernel.types.live import (
    RealtimeInputConfig as RealtimeInputConfig,
)
from newel_kernel.types.live import (
    SessionResumptionConfig as SessionResumptionConfig,
)
from newel_kernel.types.live import (
    SlidingWindow as SlidingWindow,
)
from newel_kernel.types.live import (
    StartSensitivity as StartSensitivity,
)
from newel_kernel.types.live import (
    TurnCoverage as TurnCoverage,
)
from newel_kernel.types.live_client import (
    ActivityEnd as ActivityEnd,
)
from newel_kernel.types.live_client import (
    ActivityStart as ActivityStart,
)
from newel_kernel.types.live_client import (
    LiveClientContent as LiveClientContent,
)
from newel_kernel.types.live_client import (
    LiveClientContextUpdate as LiveClientContextUpdate,
)
from newel_kernel.types.live_client import (
    LiveClientContextUpdateTools as LiveClientContextUpdateTools,
)
from newel_kernel.types.live_client import (
    LiveClientMessage as LiveClientMessage,
)
from newel_kernel.types.live_client import (
    LiveClientRealtimeInput as LiveClientRealtimeInput,
)
from newel_kernel.types.live_client import (
    LiveClientSetup as LiveClientSetup,
)
from newel_kernel.types.live_client import (
    LiveClientToolResponse as LiveClientToolResponse,
)
from newel_kernel.types.live_client import (
    LiveConnectParameters as LiveConnectParameters,
)
from newel_kernel.types.live_server import (
    InteractionStatus as InteractionStatus,
)
from newel_kernel.types.live_server import (
    LiveServerContent as LiveServerContent,
)
from newel_kernel.types.live_server import (
    LiveServerGoAway as LiveServerGoAway,
)
from newel_kernel.types.live_server import (
    LiveServerMessage as LiveServerMessage,
)
from newel_kernel.types.live_server import (
    LiveServerSessionResumptionUpdate as LiveServerSessionResumptionUpdate,
)
from newel_kernel.types.live_server import (
    LiveServerSetupComplete as LiveServerSetupComplete,
)
from newel_kernel.types.live_server import (
    LiveServerToolCall as LiveServerToolCall,
)
from newel_kernel.types.live_server import (
    LiveServerToolCallCancellation as LiveServerToolCallCancellation,
)
from newel_kernel.types.live_server import (
    VadSignalType as VadSignalType,
)
from newel_kernel.types.live_server import (
    VoiceActivity as VoiceActivity,
)
from newel_kernel.types.live_server import (
    VoiceActivityDetectionSignal as VoiceActivityDetectionSignal,
)
from newel_kernel.types.live_server import (
    VoiceActivityType as VoiceActivityType,
)
from newel_kernel.types.logprobs import (
    LogprobsResult as LogprobsResult,
)
from newel_kernel.types.logprobs import (
    LogprobsResultCandidate as LogprobsResultCandidate,
)
from newel_kernel.types.logprobs import (
    LogprobsResultTopCandidates as LogprobsResultTopCandidates,
)
from newel_kernel.types.media import (
    Blob as Blob,
)
from newel_kernel.types.media import (
    CodeExecutionResult as CodeExecutionResult,
)
from newel_kernel.types.media import (
    ExecutableCode as ExecutableCode,
)
from newel_kernel.types.media import (
    FileData as FileData,
)
from newel_kernel.types.media import (
    FunctionResponsePart as FunctionResponsePart,
)
from newel_kernel.types.media import (
    FunctionResponseScheduling as FunctionResponseScheduling,
)
from newel_kernel.types.media import (
    Language as Language,
)
from newel_kernel.types.media import (
    Outcome as Outcome,
)
from newel_kernel.types.media import (
    PartialArg as PartialArg,
)
from newel_kernel.types.media import (
    PartMediaResolution as PartMediaResolution,
)
from newel_kernel.types.media import (
    PartMediaResolutionLevel as PartMediaResolutionLevel,
)
from newel_kernel.types.media import (
    VideoMetadata as VideoMetadata,
)
from newel_kernel.types.media import (
    VideoMetadataContentLayer as VideoMetadataContentLayer,
)
from newel_kernel.types.reasons import (
    BlockedReason as BlockedReason,
)
from newel_kernel.types.reasons import (
    FinishReason as FinishReason,
)
from newel_kernel.types.reasons import (
    TurnCompleteReason as TurnCompleteReason,
)
from newel_kernel.types.response import (
    Candidate as Candidate,
)
from newel_kernel.types.response import (
    GenerateContentResponse as GenerateContentResponse,
)
from newel_kernel.types.response import (
    GenerateContentResponsePromptFeedback as GenerateContentResponsePromptFeedback,
)
from newel_kernel.types.response import (
    ModelStage as ModelStage,
)
from newel_kernel.types.response import (
    ModelStatus as ModelStatus,
)
from newel_kernel.types.response import (
    UrlContextMetadata as UrlContextMetadata,
)
from newel_kernel.types.response import (
    UrlMetadata as UrlMetadata,
)
from newel_kernel.types.response import (
    UrlRetrievalStatus as UrlRetrievalStatus,
)
from newel_kernel.types.retrieval import (
    ApiSpec as ApiSpec,
)
from newel_kernel.types.retrieval import (
    ExternalApi as ExternalApi,
)
from newel_kernel.types.retrieval import (
    ExternalApiElasticSearchParams as ExternalApiElasticSearchParams,
)
from newel_kernel.types.retrieval import (
    ExternalApiSimpleSearchParams as ExternalApiSimpleSearchParams,
)
from newel_kernel.types.retrieval import (
    RagRetrievalConfig as RagRetrievalConfig,
)
from newel_kernel.types.retrieval import (
    RagRetrievalConfigFilter as RagRetrievalConfigFilter,
)
from newel_kernel.types.retrieval import (
    RagRetrievalConfigHybridSearch as RagRetrievalConfigHybridSearch,
)
from newel_kernel.types.retrieval import (
    RagRetrievalConfigRanking as RagRetrievalConfigRanking,
)
from newel_kernel.types.retrieval import (
    RagRetrievalConfigRankingLlmRanker as RagRetrievalConfigRankingLlmRanker,
)
from newel_kernel.types.retrieval import (
    RagRetrievalConfigRankingRankService as RagRetrievalConfigRankingRankService,
)
from newel_kernel.types.retrieval import (
    Retrieval as Retrieval,
)
from newel_kernel.types.retrieval import (
    VertexAISearch as VertexAISearch,
)
from newel_kernel.types.retrieval import (
    VertexAISearchDataStoreSpec as VertexAISearchDataStoreSpec,
)
from newel_kernel.types.retrieval import (
    VertexRagStore as VertexRagStore,
)
from newel_kernel.types.retrieval import (
    VertexRagStoreRagResource as VertexRagStoreRagResource,
)
from newel_kernel.types.safety import (
    HarmBlockMethod as HarmBlockMethod,
)
from newel_kernel.types.safety import (
    HarmBlockThreshold as HarmBlockThreshold,
)
from newel_kernel.types.safety import (
    HarmCategory as HarmCategory,
)
from newel_kernel.types.safety import (
    HarmProbability as HarmProbability,
)
from newel_kernel.types.safety import (
    HarmSeverity as HarmSeverity,
)
from newel_kernel.types.safety import (
    ModelArmorConfig as ModelArmorConfig,
)
from newel_kernel.types.safety import (
    SafetyRating as SafetyRating,
)
from newel_kernel.types.safety import (
    SafetySetting as SafetySetting,
)
from newel_kernel.types.schema import (
    Schema as Schema,
)
from newel_kernel.types.schema import (
    Type as Type,
)
from newel_kernel.types.server_tools import (
    ComputerUse as ComputerUse,
)
from newel_kernel.types.server_tools import (
    DynamicRetrievalConfig as DynamicRetrievalConfig,
)
from newel_kernel.types.server_tools import (
    DynamicRetrievalConfigMode as DynamicRetrievalConfigMode,
)
from newel_kernel.types.server_tools import (
    EnterpriseWebSearch as EnterpriseWebSearch,
)
from newel_kernel.types.server_tools import (
    Environment as Environment,
)
from newel_kernel.types.server_tools import (
    FileSearch as FileSearch,
)
from newel_kernel.types.server_tools import (
    GoogleMaps as GoogleMaps,
)
from newel_kernel.types.server_tools import (
    GoogleMapsGroundingTypes as GoogleMapsGroundingTypes,
)
from newel_kernel.types.server_tools import (
    GoogleMapsPlaces as GoogleMapsPlaces,
)
from newel_kernel.types.server_tools import (
    GoogleMapsRouting as GoogleMapsRouting,
)
from newel_kernel.types.server_tools import (
    GoogleSearch as GoogleSearch,
)
from newel_kernel.types.server_tools import (
    GoogleSearchRetrieval as GoogleSearchRetrieval,
)
from newel_kernel.types.server_tools import (
    ImageSearch as ImageSearch,
)
from newel_kernel.types.server_tools import (
    Interval as Interval,
)
from newel_kernel.types.server_tools import (
    McpServer as McpServer,
)
from newel_kernel.types.server_tools import (
    PhishBlockThreshold as PhishBlockThreshold,
)
from newel_kernel.types.server_tools import (
    SafetyPolicy as SafetyPolicy,
)
from newel_kernel.types.server_tools import (
    SearchTypes as SearchTypes,
)
from newel_kernel.types.server_tools import (
    StreamableHttpTransport as StreamableHttpTransport,
)
from newel_kernel.types.server_tools import (
    ToolCodeExecution as ToolCodeExecution,
)
from newel_kernel.types.server_tools import (
    ToolExaAiSearch as ToolExaAiSearch,
)
from newel_kernel.types.server_tools import (
    ToolParallelAiSearch as ToolParallelAiSearch,
)
from newel_kernel.types.server_tools import (
    UrlContext as UrlContext,
)
from newel_kernel.types.server_tools import (
    WebSearch as WebSearch,
)
from newel_kernel.types.speech import (
    AudioTranscriptionConfig as AudioTranscriptionConfig,
)
from newel_kernel.types.speech import (
    AudioTranscriptionConfigMode as AudioTranscriptionConfigMode,
)
from newel_kernel.types.speech import (
    LanguageAuto as LanguageAuto,
)
from newel_kernel.types.speech import (
    LanguageHints as LanguageHints,
)
from newel_kernel.types.speech import (
    MultiSpeakerVoiceConfig as MultiSpeakerVoiceConfig,
)
from newel_kernel.types.speech import (
    PrebuiltVoiceConfig as PrebuiltVoiceConfig,
)
from newel_kernel.types.speech import (
    ReplicatedVoiceConfig as ReplicatedVoiceConfig,
)
from newel_kernel.types.speech import (
    SpeakerVoiceConfig as SpeakerVoiceConfig,
)
from newel_kernel.types.speech import (
    SpeechConfig as SpeechConfig,
)
from newel_kernel.types.speech import (
    TranslationConfig as TranslationConfig,
)
from newel_kernel.types.speech import (
    VoiceConfig as VoiceConfig,
)
from newel_kernel.types.speech import (
    VoiceConsentSignature as VoiceConsentSignature,
)
from newel_kernel.types.tools import (
    Behavior as Behavior,
)
from newel_kernel.types.tools import (
    FunctionCallingConfig as FunctionCallingConfig,
)
from newel_kernel.types.tools import (
    FunctionCallingConfigMode as FunctionCallingConfigMode,
)
from newel_kernel.types.tools import (
    FunctionDeclaration as FunctionDeclaration,
)
from newel_kernel.types.tools import (
    LatLng as LatLng,
)
from newel_kernel.types.tools import (
    RetrievalConfig as RetrievalConfig,
)
from newel_kernel.types.tools import (
    Tool as Tool,
)
from newel_kernel.types.tools import (
    ToolConfig as ToolConfig,
)
from newel_kernel.types.transcription import (
    Transcription as Transcription,
)
from newel_kernel.types.transcription import (
    WordInfo as WordInfo,
)
from newel_kernel.types.unions import (
    ContentListUnion as ContentListUnion,
)
from newel_kernel.types.unions import (
    ContentListUnionDict as ContentListUnionDict,
)
from newel_kernel.types.unions import (
    ContentUnion as ContentUnion,
)
from newel_kernel.types.unions import (
    ContentUnionDict as ContentUnionDict,
)
from newel_kernel.types.unions import (
    PartListUnion as PartListUnion,
)
from newel_kernel.types.unions import (
    PartListUnionDict as PartListUnionDict,
)
from newel_kernel.types.unions import (
    PartUnion as PartUnion,
)
from newel_kernel.types.unions import (
    PartUnionDict as PartUnionDict,
)
from newel_kernel.types.unions import (
    SchemaUnion as SchemaUnion,
)
from newel_kernel.types.unions import (
    SchemaUnionDict as SchemaUnionDict,
)
from newel_kernel.types.unions import (
    SpeechConfigUnion as SpeechConfigUnion,
)
from newel_kernel.types.unions import (
    SpeechConfigUnionDict as SpeechConfigUnionDict,
)
from newel_kernel.types.unions import (
    ToolListUnion as ToolListUnion,
)
from newel_kernel.types.unions import (
    ToolListUnionDict as ToolListUnionDict,
)
from newel_kernel.types.unions import (
    ToolUnion as ToolUnion,
)
from newel_kernel.types.unions import (
    ToolUnionDict as ToolUnionDict,
)
from newel_kernel.types.usage import (
    GenerateContentResponseUsageMetadata as GenerateContentResponseUsageMetadata,
)
from newel_kernel.types.usage import (
    MediaModality as MediaModality,
)
from newel_kernel.types.usage import (
    ModalityTokenCount as ModalityTokenCount,
)
from newel_kernel.types.usage import (
    TrafficType as TrafficType,
)
from newel_kernel.types.usage import (
    UsageMetadata as UsageMetadata,
)
from newel_kernel.types.wire import (
    ResponseModel as ResponseModel,
)
from newel_kernel.types.wire import (
    WireEnum as WireEnum,
)
from newel_kernel.types.wire import (
    WireModel as WireModel,
)
