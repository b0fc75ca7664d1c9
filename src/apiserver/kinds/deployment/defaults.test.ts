import { expect, test } from 'vitest'
import { applyDefaults } from '../testing/rules-by-kind.ts'

const ROLLING = { maxUnavailable: '25%', maxSurge: '25%' }

test('a Deployment wants one pod, which is always restarted, and rolls', () => {
  expect(applyDefaults('Deployment', {})).toEqual({
    spec: {
      replicas: 1,
      revisionHistoryLimit: 10,
      progressDeadlineSeconds: 600,
      strategy: { type: 'RollingUpdate', rollingUpdate: ROLLING },
      template: expect.objectContaining({
        spec: expect.objectContaining({ restartPolicy: 'Always', dnsPolicy: 'ClusterFirst' }),
      }),
    },
  })
})

test('zero pods stay zero, and Recreate has nothing to roll', () => {
  const spec = { replicas: 0, strategy: { type: 'Recreate' } }
  expect(applyDefaults('Deployment', { spec })).toMatchObject({ spec })
  expect(applyDefaults('Deployment', { spec })).not.toHaveProperty('spec.strategy.rollingUpdate')
})
