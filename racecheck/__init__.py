"""Property-based concurrency verification for programs that share directories."""
