"""The demo model: picks tools by their words and fills in their arguments, offline."""
