import { expect, test } from 'vitest'
import type { Json } from '../../lib/json.ts'
import { sorterBy } from './get-flags.ts'

test.each<[string, Json[]]>([
  ['numbers', [2, 10]],
  ['names with numbers', ['web-2', 'web-10', 'web-10a', 'xyz']],
  ['addresses', ['10.96.0.2', '10.96.0.10', '10.200.0.1']],
  ['quantities', ['500m', '1', '1Ki', '2k', '1Mi']],
  ['times', ['2026-01-31T10:00:00Z', '2026-02-01T09:00:00Z']],
  ['equal numbers by the zeros before them', ['a1', 'a1z', 'a01', 'a01b', 'a2']],
  ['numbers before other texts', ['7z', '-7', '.7']],
])('%s are sorted as by kubectl 1.30', (_what, sorted) => {
  const objects = sorted.toReversed().map((key) => ({ key }))
  expect(sorterBy('.key')(objects, (object) => object)).toEqual(sorted.map((key) => ({ key })))
})
