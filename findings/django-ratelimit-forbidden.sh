#!/usr/bin/env bash
# A rate limit is 429 Too Many Requests (RFC 6585). django-ratelimit, in its default form, responds with 403 Forbidden and
# without Retry-After. Django REST framework's own throttle beside it responds with 429. For a queue the two mean opposite
# things: 429 says "later", and 403 says that the credentials are wrong, so it stops calling. The endpoint must map the
# exception to 429 before a queue calls it.
set -euo pipefail
work=$(mktemp -d)
server=
stop() {
  [ -z "$server" ] || { kill "$server" && wait "$server"; } 2>/dev/null || true
  rm -rf "$work"
}
trap stop EXIT
cd "$work"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check Django==5.2 django-ratelimit==4.1.0 djangorestframework==3.16.1
cat >site_under_test.py <<'PY'
import django
from django.conf import settings

settings.configure(
    ROOT_URLCONF=__name__,
    ALLOWED_HOSTS=["127.0.0.1"],
    SECRET_KEY="test",
    REST_FRAMEWORK={
        "UNAUTHENTICATED_USER": None,
        "DEFAULT_AUTHENTICATION_CLASSES": [],
        "DEFAULT_PERMISSION_CLASSES": [],
        "DEFAULT_THROTTLE_RATES": {"anon": "1/hour"},
    },
)
django.setup()
from django.core.wsgi import get_wsgi_application
from django.http import HttpResponse
from django.urls import path
from django.views.decorators.csrf import csrf_exempt
from django_ratelimit.decorators import ratelimit
from rest_framework.response import Response
from rest_framework.throttling import AnonRateThrottle
from rest_framework.views import APIView


@csrf_exempt
@ratelimit(key="ip", rate="1/h")
def limited(request):
    return HttpResponse()


class Throttled(APIView):
    throttle_classes = [AnonRateThrottle]

    def post(self, request):
        return Response()


urlpatterns = [path("django-ratelimit", limited), path("rest-framework", Throttled.as_view())]
application = get_wsgi_application()
PY
cat >check.py <<'PY'
import http.client
import logging
import threading
from importlib.metadata import version
from wsgiref.simple_server import WSGIRequestHandler, make_server

from site_under_test import application

logging.disable()


class Quiet(WSGIRequestHandler):
    def log_message(self, *_):
        pass


server = make_server("127.0.0.1", 0, application, handler_class=Quiet)
threading.Thread(target=server.serve_forever, daemon=True).start()
seen = {}
for name, package in (("django-ratelimit", "django-ratelimit"), ("rest-framework", "djangorestframework")):
    for _ in range(2):
        connection = http.client.HTTPConnection("127.0.0.1", server.server_port)
        connection.request("POST", f"/{name}", body=b"")
        response = connection.getresponse()
        response.read()
    seen[name] = (response.status, response.getheader("Retry-After") is not None)
    print(f"{package} {version(package)}, second call with a limit of one: {response.status}, Retry-After: {response.getheader('Retry-After')}")
server.shutdown()
raise SystemExit(0 if seen == {"django-ratelimit": (403, False), "rest-framework": (429, True)} else 1)
PY
venv/bin/python check.py
