import asyncio
from google.cloud import secretmanager

from newel.auth.base_auth_provider import BaseAuthProvider
from newel.auth.auth_credential import AuthCredential, AuthCredentialTypes, ApiKey
from newel.auth.auth_schemes import ApiKeyScheme
from newel.agents.callback_context import CallbackContext

class GCPSecretManagerAuthProvider(BaseAuthProvider):
    """Retrieves API keys from GCP Secret Manager."""

    # Enable 1-param registration: registry.register(OurProvider, GCPSecretManagerAuthProvider(project="…"))
    supported_auth_schemes = (ApiKeyScheme,)

    def __init__(self, project: str, secret_name: str):
        self._project = project
        self._secret_name = secret_name
        self._client = secretmanager.SecretManagerServiceAsyncClient()

    async def get_auth_credential(
        self,
        auth_config,
        context: CallbackContext,
    ) -> AuthCredential | None:
        try:
            name = f"projects/{self._project}/secrets/{self._secret_name}/versions/latest"
            response = await self._client.access_secret_version(name=name)
            api_key = response.payload.data.decode("utf-8").strip()
            return AuthCredential(
                auth_type=AuthCredentialTypes.API_KEY,
                api_key=ApiKey(api_key=api_key),
            )
        except Exception:
            return None  # fall back to next provider

# Registration
from newel.apps.app import App
from newel.auth.auth_provider_registry import AuthProviderRegistry

registry = AuthProviderRegistry()
registry.register(
    ApiKeyScheme,
    GCPSecretManagerAuthProvider(project="my-gcp-project", secret_name="weather-api-key"),
)

# Attach to App
app = App(name="demo", agent=agent, auth_provider_registry=registry)
