"""What each row can be used for, why it requires review, and what adds up over a frame or a file.

The rule of what requires review is that of one result: `svc_tools.lookup.reviewing`.
"""
