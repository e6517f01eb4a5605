#!/usr/bin/env bash
# A producer in PHP reads a task's payload as an array, the usual way, adds nothing, and sends it with json_encode. One
# would expect the same JSON. An empty object becomes an empty list, so a consumer with a typed payload rejects the task.
# A whole number above 2^63 arrives as a rounded float with an exponent. A float such as 120.0 arrives as 120, which helps:
# a time in milliseconds never has a fraction. Objects survive if the producer decodes them as objects.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
# PHP as Debian ships it. The script needs its minor version; Debian replaces the patch in security updates.
apt-get download -qq php8.2-cli libargon2-1 libpcre2-8-0 libsodium23 libxml2 libicu72 2>/dev/null
for package in *.deb; do dpkg -x "$package" root; done
cat >echo.php <<'PHP'
<?php
$text = '{"options": {}, "id": 12345678901234567890, "created": 1795829037939.0, "key": 9007199254740993}';
echo json_encode(json_decode($text, true)), "\n";
echo json_encode(json_decode($text)->options), "\n";
PHP
php() { LD_LIBRARY_PATH="$(find root -name '*-linux-gnu' -path '*usr/lib*' | head -1)" root/usr/bin/php8.2 -n "$@"; }
version=$(php -r 'echo PHP_MAJOR_VERSION, ".", PHP_MINOR_VERSION;')
echo "PHP $version"
seen=$(php echo.php)
echo "$seen"
[ "$version" = 8.2 ] && [ "$seen" = '{"options":[],"id":1.2345678901234567e+19,"created":1795829037939,"key":9007199254740993}
{}' ]
