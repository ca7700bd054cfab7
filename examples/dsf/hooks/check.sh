#!/bin/sh
# What a hook knows; with --hook-logs it is shown.
set -eu
echo "$STATECTL_HOOK of $STATECTL_NAMESPACE/$STATECTL_RELEASE ($STATECTL_CHART $STATECTL_CHART_VERSION): $1"
