import { expect, test } from 'vitest'
import type { Raw } from '../../resources/reader.ts'
import { placesOf } from '../../resources/testing/raw-objects.ts'
import { applyDefaults, validateObject } from './testing/rules-by-kind.ts'

const METADATA = { name: 'x', namespace: 'kube-system' }
const TEMPLATE = {
  metadata: { labels: { app: 'proxy' } },
  spec: { containers: [{ name: 'main' }] },
}
const SPEC = { selector: { matchLabels: { app: 'proxy' } }, template: TEMPLATE }

test('the defaults are Pods that are always restarted, replaced one after the other', () => {
  expect(applyDefaults('DaemonSet', {})).toEqual({
    spec: {
      revisionHistoryLimit: 10,
      updateStrategy: {
        type: 'RollingUpdate',
        rollingUpdate: { maxUnavailable: 1, maxSurge: 0 },
      },
      template: expect.objectContaining({
        spec: expect.objectContaining({ restartPolicy: 'Always' }),
      }),
    },
  })
})

test('OnDelete gets no rollingUpdate', () => {
  const spec = { updateStrategy: { type: 'OnDelete' } }
  const filled = applyDefaults('DaemonSet', { spec })
  expect(filled).toMatchObject({ spec })
  expect(filled).not.toHaveProperty('spec.updateStrategy.rollingUpdate')
})

const rolling = (rollingUpdate: Raw): Raw => ({ updateStrategy: { rollingUpdate } })

test.each<[Raw, readonly string[]]>([
  [{}, []],
  [{ updateStrategy: { type: 'OnDelete' } }, []],
  [rolling({ maxUnavailable: '10%' }), []],
  [rolling({ maxUnavailable: 0, maxSurge: 1 }), []],
  [{ minReadySeconds: -1 }, ['spec.minReadySeconds -1']],
  [{ updateStrategy: { type: 'Recreate' } }, ['spec.updateStrategy.type "Recreate"']],
  [rolling({ maxUnavailable: 0 }), ['spec.updateStrategy.rollingUpdate.maxUnavailable 0']],
  [rolling({ maxUnavailable: '0%' }), ['spec.updateStrategy.rollingUpdate.maxUnavailable "0%"']],
  [rolling({ maxSurge: 1 }), ['spec.updateStrategy.rollingUpdate.maxSurge 1']],
  [
    rolling({ maxUnavailable: '101%' }),
    ['spec.updateStrategy.rollingUpdate.maxUnavailable "101%"'],
  ],
  [rolling({ maxUnavailable: 'x' }), ['spec.updateStrategy.rollingUpdate.maxUnavailable "x"']],
  [{ selector: {} }, ['spec.selector {}']],
  [{ selector: { matchLabels: { app: 'x' } } }, ['spec.selector {"matchLabels":{"app":"x"}}']],
])('a DaemonSet with %j: rejected fields %j', (spec, expected) => {
  const object = applyDefaults('DaemonSet', { metadata: METADATA, spec: { ...SPEC, ...spec } })
  expect(placesOf(validateObject('DaemonSet', object))).toEqual(expected)
})
