"""The functions and macros of this workbook: SVC_RATE, SVC_TAX, SVC_REFRESH and the others.

Keep this file next to the workbook, under this name; nothing in it needs to be changed. Excel reads
it when the functions are imported: once, and again after an update of svc-tools.
"""

from svc_tools.excel.com.macros import *  # noqa: F403 - what Alt+F8 shows
from svc_tools.excel.com.nexus import *  # noqa: F403 - and the macros of the sheet Nexus
from svc_tools.excel.com.udfs import *  # noqa: F403 - what a formula can call
