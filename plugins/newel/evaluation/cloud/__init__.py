"""Google Cloud, if it is configured: metrics that its evaluation service computes, eval sets in buckets, speech."""
