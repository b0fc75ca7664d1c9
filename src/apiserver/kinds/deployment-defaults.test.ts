import { expect, test } from 'vitest'
import { applyDefaults } from './testing/rules-by-kind.ts'

const ROLLING = { maxUnavailable: '25%', maxSurge: '25%' }

test('the defaults are one Pod, which is always restarted, and a rolling update', () => {
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

test('replicas: 0 stays, and Recreate gets no rollingUpdate', () => {
  const spec = { replicas: 0, strategy: { type: 'Recreate' } }
  expect(applyDefaults('Deployment', { spec })).toMatchObject({ spec })
  expect(applyDefaults('Deployment', { spec })).not.toHaveProperty('spec.strategy.rollingUpdate')
})
