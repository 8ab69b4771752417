"""What knows nothing of taxes: files, processes, ports, optional packages, progress."""
