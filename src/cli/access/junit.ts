import type { Verdict } from './expectations.js';

/** The verdicts as JUnit XML, which CI systems show: https://github.com/testmoapp/junitxml */
export function junitXml(file: string, verdicts: readonly Verdict[]): string {
  const failures = verdicts.filter((verdict) => verdict.failures.length > 0).length;
  const counts = `tests="${verdicts.length}" failures="${failures}" errors="0"`;
  const cases = verdicts.map(({ name, registry, failures: found }) => {
    const head = `    <testcase classname="${escaped(registry)}" name="${escaped(name)}" time="0"`;
    if (found.length === 0) return `${head}/>`;
    const message = escaped(found.join('; '));
    return `${head}>\n      <failure message="${message}">${escaped(found.join('\n'))}</failure>\n    </testcase>`;
  });
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuites ${counts}>`,
    `  <testsuite name="${escaped(file)}" ${counts}>`,
    ...cases,
    '  </testsuite>',
    '</testsuites>',
    '',
  ].join('\n');
}

// XML 1.0 §2.2 knows no other control characters than these three, not even escaped.
const NOT_XML = /[^\t\n\r\u{20}-\u{D7FF}\u{E000}-\u{FFFD}\u{10000}-\u{10FFFF}]/gu;
const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  '\n': '&#10;',
};

function escaped(text: string): string {
  return text
    .replaceAll(NOT_XML, '\u{FFFD}')
    .replaceAll(/[&<>"\n]/g, (character) => ESCAPES[character] ?? '');
}
