import { expect, test } from 'vitest'
import type { JsonObject } from '../../lib/json.ts'
import { podObject } from '../testing/pod-story.ts'
import { isToBind } from './pod-fleet.ts'

const LABELS = { disk: 'fast' }

test.each([
  [{}, {}, true],
  [{ nodeName: 'other' }, {}, false],
  [{ schedulerName: 'default-scheduler' }, {}, true],
  [{ schedulerName: 'mine' }, {}, false],
  [{ nodeSelector: { disk: 'fast' } }, {}, true],
  [{ nodeSelector: { disk: 'slow' } }, {}, false],
  [{ nodeSelector: { constructor: 'x' } }, {}, false],
  [{}, { deletionTimestamp: '2030-01-01T00:00:00Z' }, false],
] as readonly (readonly [JsonObject, JsonObject, boolean])[])(
  'a Pod with %j and %j is bound: %j',
  (spec, metadata, expected) => {
    expect(isToBind(podObject(spec, metadata), LABELS)).toBe(expected)
  },
)
