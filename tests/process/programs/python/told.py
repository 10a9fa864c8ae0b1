"""Where Python says that it is."""
import sys


def stack():
    """The caller's frames as the interpreter tells them, the innermost first: file, line, function."""
    frame = sys._getframe(1)
    frames = []
    while frame is not None:
        code = frame.f_code
        frames.append([code.co_filename, frame.f_lineno, getattr(code, "co_qualname", code.co_name)])
        frame = frame.f_back
    return frames
