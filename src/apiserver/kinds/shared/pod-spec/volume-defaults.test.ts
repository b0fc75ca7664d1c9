import { expect, test } from 'vitest'
import type { Raw } from '../../../../resources/reader.ts'
import { defaultVolume } from './defaults.ts'

const FIELD = { fieldRef: { fieldPath: 'metadata.name' } }
const FULL_FIELD = { fieldRef: { apiVersion: 'v1', fieldPath: 'metadata.name' } }

test.each<[Raw, Raw]>([
  [{ configMap: { name: 'a' } }, { configMap: { name: 'a', defaultMode: 420 } }],
  [{ secret: { defaultMode: 0 } }, { secret: { defaultMode: 0 } }],
  [
    { downwardAPI: { items: [FIELD, {}] } },
    { downwardAPI: { defaultMode: 420, items: [FULL_FIELD, {}] } },
  ],
  [
    { projected: { sources: [{ serviceAccountToken: {} }, { downwardAPI: { items: [FIELD] } }] } },
    {
      projected: {
        defaultMode: 420,
        sources: [
          { serviceAccountToken: { expirationSeconds: 3600 } },
          { downwardAPI: { items: [FULL_FIELD] } },
        ],
      },
    },
  ],
  [{ hostPath: { path: '/a' } }, { hostPath: { path: '/a', type: '' } }],
  [{ hostPath: { type: 'File' } }, { hostPath: { type: 'File' } }],
  [{ emptyDir: {} }, { emptyDir: {} }],
  [{}, { emptyDir: {} }],
  [{ secret: null }, { secret: null, emptyDir: {} }],
])('the volume %j is stored as %j', (given, expected) => {
  expect(defaultVolume(given)).toEqual(expected)
})
