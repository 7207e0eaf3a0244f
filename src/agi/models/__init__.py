"""Who we talk to: one file per wire format behind the small protocol in `base`. Knows nothing of sessions or tools."""
