"""The GPU suite: runs programs bare and under umadvisor and compares. Standard library only."""
