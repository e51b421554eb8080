"""The entry point of the plugin."""
