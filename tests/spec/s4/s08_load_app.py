from newel.apps.app import App

app = App.from_config("app_config.yaml")
