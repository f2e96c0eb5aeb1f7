"""What all compiled kernels share: the decorator, the folder of compiled code, and the wait for the compiler."""
