import { expect, test } from 'vitest'
import { validateObject } from '../kinds/testing/rules-by-kind.ts'

const EARLIER = { key: 'dedicated', operator: 'Exist' }

function pod(tolerations: readonly object[], more: object = {}) {
  const spec = { containers: [{ name: 'web', image: 'web' }], tolerations }
  return { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p', namespace: 'n' }, spec, ...more }
}

test('an object from before a rule can be written as long as the fault stays as it is', () => {
  const old = pod([EARLIER])
  expect(validateObject('Pod', old)).toHaveLength(1)
  expect(validateObject('Pod', pod([EARLIER], { status: { phase: 'Running' } }), old)).toEqual([])
  const valid = { key: 'spot', operator: 'Exists' }
  expect(validateObject('Pod', pod([valid, EARLIER]), old)).toEqual([])
})

test.each([
  ['another value', [{ ...EARLIER, operator: 'Exits' }]],
  ['a fault of another field', [EARLIER, { key: 'spot', effect: 'NoRun' }]],
])('%s is refused beside a fault of the stored object', (_what, tolerations) => {
  expect(validateObject('Pod', pod(tolerations), pod([EARLIER]))).toHaveLength(1)
})
