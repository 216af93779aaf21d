"""All that knows Linux: ptrace, seccomp, the call table, memory, the clock page."""
