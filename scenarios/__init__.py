"""Programs that share files with other processes, one folder a system."""
