"""Google Cloud, where it is configured: metrics that its evaluation service computes, eval sets in buckets, speech."""
