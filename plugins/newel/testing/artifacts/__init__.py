"""What every store of artifacts has to do, as checks for whoever writes one."""
