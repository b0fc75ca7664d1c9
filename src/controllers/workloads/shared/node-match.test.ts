import { expect, test } from 'vitest'
import type { JsonObject } from '../../../lib/json.ts'
import { readNode } from '../../objects/node-object.ts'
import { readPod } from '../../objects/pod-object.ts'
import { affinityToNode, nodeSelection, untoleratedTaint } from './node-match.ts'

const NODE = readNode({
  metadata: { name: 'a', labels: { disk: 'ssd', cores: '8', zone: '' } },
})

/** A spec with one term of required node affinity for each argument. */
function required(...nodeSelectorTerms: readonly JsonObject[]): JsonObject {
  const selector = { nodeSelectorTerms: [...nodeSelectorTerms] }
  const nodeAffinity = { requiredDuringSchedulingIgnoredDuringExecution: selector }
  return { affinity: { nodeAffinity } }
}

function expression(key: string, operator: string, ...values: readonly string[]): JsonObject {
  return { matchExpressions: [{ key, operator, values: [...values] }] }
}

function field(key: string, operator: string, ...values: readonly string[]): JsonObject {
  return { matchFields: [{ key, operator, values: [...values] }] }
}

test.each<[JsonObject, boolean]>([
  [{}, true],
  [{ nodeSelector: {} }, true],
  [{ nodeSelector: { disk: 'ssd', cores: '8' } }, true],
  [{ nodeSelector: { disk: 'ssd', cores: '4' } }, false],
  [{ nodeSelector: { zone: '' } }, true],
  [{ nodeSelector: { constructor: '' } }, false],
  [required(), false],
  [required({}), false],
  [required({ matchExpressions: [] }, expression('disk', 'Exists')), true],
  [required(expression('disk', 'In', 'hdd'), expression('cores', 'In', '4', '8')), true],
  [required(expression('disk', 'In', 'hdd')), false],
  [required(expression('none', 'In', 'hdd')), false],
  [required(expression('disk', 'NotIn', 'hdd')), true],
  [required(expression('disk', 'NotIn', 'ssd')), false],
  [required(expression('none', 'NotIn', 'ssd')), true],
  [required(expression('disk', 'NotIn')), false],
  [required(expression('zone', 'Exists')), true],
  [required(expression('none', 'Exists')), false],
  [required(expression('none', 'DoesNotExist')), true],
  [required(expression('zone', 'DoesNotExist')), false],
  [required(expression('cores', 'Gt', '7')), true],
  [required(expression('cores', 'Gt', '8')), false],
  [required(expression('cores', 'Lt', '+10')), true],
  [required(expression('cores', 'Lt', '-10')), false],
  [required(expression('disk', 'Gt', '1')), false],
  [required(expression('none', 'Lt', '1')), false],
  [required(expression('cores', 'Gt', '1', '2')), false],
  [required(expression('cores', 'Gt', 'x')), false],
  [required(expression('disk', 'Like', 'ssd')), false],
  [required(field('metadata.name', 'In', 'a')), true],
  [required(field('metadata.name', 'In', 'b')), false],
  [required(field('metadata.name', 'NotIn', 'b')), true],
  [required(field('metadata.name', 'In', 'a', 'b')), false],
  [required(field('metadata.name', 'Exists')), false],
  [required(field('metadata.uid', 'In', 'a')), false],
  [required({ ...field('metadata.name', 'In', 'a'), ...expression('disk', 'In', 'hdd') }), false],
  [{ nodeSelector: { disk: 'hdd' }, ...required(expression('disk', 'Exists')) }, false],
])('a Pod with %j may be on the node: %s', (spec, expected) => {
  expect(nodeSelection(spec)(NODE)).toBe(expected)
})

test('the affinity to a node replaces the required one and keeps the rest', () => {
  const preferred = { preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 1 }] }
  const spec = {
    affinity: { podAntiAffinity: { a: 1 }, nodeAffinity: { ...preferred, ...required() } },
  }
  const affinity = affinityToNode(spec, 'b')
  expect(affinity).toMatchObject({ podAntiAffinity: { a: 1 }, nodeAffinity: preferred })
  expect(readPod({ spec: { affinity } }).wantedNode).toBe('b')
  expect(nodeSelection({ affinity })(NODE)).toBe(false)
  expect(nodeSelection({ affinity: affinityToNode(spec, 'a') })(NODE)).toBe(true)
  expect(readPod({ spec: required(expression('metadata.name', 'In', 'a')) }).wantedNode).toBe('')
})

const EFFECTS = ['NoSchedule', 'NoExecute']
const DEDICATED = { key: 'dedicated', value: 'db', effect: 'NoSchedule' }
const SOFT = { key: 'soft', value: '', effect: 'PreferNoSchedule' }

test.each<[JsonObject, readonly JsonObject[], string | undefined]>([
  [{}, [], undefined],
  [{ taints: [SOFT] }, [], undefined],
  [{ taints: [SOFT, DEDICATED] }, [], 'dedicated'],
  [{ taints: [DEDICATED] }, [{ key: 'dedicated', value: 'db' }], undefined],
  [{ taints: [DEDICATED] }, [{ key: 'dedicated', operator: 'Equal', value: 'web' }], 'dedicated'],
  [{ taints: [DEDICATED] }, [{ key: 'dedicated', operator: 'Exists' }], undefined],
  [{ taints: [DEDICATED] }, [{ key: 'other', operator: 'Exists' }], 'dedicated'],
  [{ taints: [DEDICATED] }, [{ operator: 'Exists', effect: 'NoExecute' }], 'dedicated'],
  [{ taints: [DEDICATED] }, [{ operator: 'Exists', effect: 'NoSchedule' }], undefined],
  [{ taints: [DEDICATED] }, [{ operator: 'Exists' }], undefined],
  [{ taints: [DEDICATED] }, [{ key: 'dedicated', operator: 'Like', value: 'db' }], 'dedicated'],
  [{ unschedulable: true }, [], 'node.kubernetes.io/unschedulable'],
  [
    { unschedulable: true },
    [{ key: 'node.kubernetes.io/unschedulable', operator: 'Exists' }],
    undefined,
  ],
])('of %j with %j the first taint that is not tolerated: %s', (spec, tolerations, key) => {
  const node = readNode({ metadata: { name: 'a' }, spec })
  expect(untoleratedTaint(node, tolerations, EFFECTS)?.key).toBe(key)
})
