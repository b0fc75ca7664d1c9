import { expect, test } from 'vitest'
import { applyDefaults } from '../testing/rules-by-kind.ts'

test('the quantities of a pod are written as in Kubernetes', () => {
  const resources = { limits: { cpu: 0.5, memory: '1024Mi' }, requests: { cpu: '1000m' } }
  const env = [{ name: 'A', valueFrom: { resourceFieldRef: { divisor: '1000m' } } }]
  const spec = {
    overhead: { cpu: '0.1' },
    containers: [{ resources, env }],
    initContainers: [{ resources }],
    volumes: [{ emptyDir: { sizeLimit: 1000 } }],
  }
  const written = { limits: { cpu: '500m', memory: '1Gi' }, requests: { cpu: '1' } }
  expect(applyDefaults('Pod', { spec })).toMatchObject({
    spec: {
      overhead: { cpu: '100m' },
      containers: [
        { resources: written, env: [{ valueFrom: { resourceFieldRef: { divisor: '1' } } }] },
      ],
      initContainers: [{ resources: written }],
      volumes: [{ emptyDir: { sizeLimit: '1k' } }],
    },
  })
})

test('so are those of a node', () => {
  const status = { capacity: { memory: '2048Ki' }, allocatable: { cpu: '2000m' } }
  expect(applyDefaults('Node', { status })).toEqual({
    status: { capacity: { memory: '2Mi' }, allocatable: { cpu: '2' } },
  })
  expect(applyDefaults('Node', {})).toEqual({})
})
