import { expect, test } from 'vitest'
import { configurationDocument } from './document.ts'
import { helpText } from './help.ts'
import { SERVER_TABLE } from './testing/server.ts'

test('the help names every flag, and the requirements of each', () => {
  expect(helpText(SERVER_TABLE)).toBe(`server serves.

Usage: server [flags]

  --config <file>
      Configuration file.
  --version
      Print the version and exit.

Settings (flag beats file beats default; the file's field in parentheses):

  --role <one of main, spare>
      Who answers first. Default: "main". (role)
  --listen-address <IP:port>
      Where it listens. Default: "". (listen.address)
  --timeout <duration>
      How long a client may be silent. Default: "30s". (listen.timeout)
  --require-tls[=true|false]
      Refuse clients without TLS. Default: false. (listen.tls.required)
  --clients <list of CIDRs>
      Admitted clients. Empty: all. Default: []. (clients)
  --port <port>
      Deprecated: use --listen-address.

Accepted and ignored, so that existing deployments start:
  --color

Exit codes: 0 done, or stopped by a signal; 1 failure while running; 2 wrong flags or
configuration, found before anything was changed.
`)
})

test('the help of a program without ignored flags does not speak of them', () => {
  expect(helpText({ ...SERVER_TABLE, ignoredFlags: new Map() })).toMatch(
    /Deprecated: use --listen-address\.\n\nExit codes/,
  )
})

const PROSE = {
  source: 'src/server',
  example: 'role: spare',
  rules: 'TLS needs an address.',
  flags: '`--port` is deprecated.',
  emptyValue: '`role: ""` is refused',
}

test('the document holds the table, the prose and what is ignored', () => {
  const text = configurationDocument(SERVER_TABLE, PROSE)
  expect(text).toContain('kind: ServerConfiguration\nrole: spare\n```')
  expect(text).toContain(
    '| `listen.timeout` | `--timeout` | duration | `"30s"`; `"1m"` with TLS | live | How long',
  )
  expect(text).toContain('\n\nTLS needs an address.\n\n## Flags that are no setting')
  expect(text).toContain('| `--version` | Print the version and exit. |\n\n`--port` is deprecated.')
  expect(text).toContain('value of `role`, `listen.address` means the default')
  expect(text).toMatch(/## A OldConfiguration[^]*\| `cache` \| there is no cache \|/)
})

test('the document of a program without kinds of other tools ends with its flags', () => {
  const text = configurationDocument({ ...SERVER_TABLE, foreignKinds: [] }, PROSE)
  expect(text).toMatch(/`--port` is deprecated\.\n$/)
})
