"""What comes over from google-adk."""
