import { expect, test } from 'vitest'
import type { ModeReview } from '../../modes/definition/mode-view.ts'
import type { KernelError, ObjectKey } from '../../modes/mode.ts'
import { listenErrors as errors } from '../../modes/userspace/driver/binding-conditions.ts'
import { Conditions } from '../../telemetry/health/conditions.ts'
import { createMetrics } from '../../telemetry/metrics/metrics.ts'
import { recordingLog } from '../testing/wiring.ts'
import { reviewKernelErrors } from './reviews.ts'

const listenErrors: ModeReview = { ...errors, services: () => {} }

test('a failed bind blocks readiness until it succeeds, any other error does not', () => {
  const conditions = new Conditions({ ...recordingLog(), metrics: createMetrics() })
  const review = (refusals: Readonly<Record<string, KernelError>>) => {
    const entries = Object.entries(refusals)
    const failures = entries.map(([key, refusal]) => [key as ObjectKey, { refusal }] as const)
    reviewKernelErrors(conditions, [listenErrors], new Map(failures))
    return conditions.current()
  }
  const taken = { code: 'NP_USERSPACE_LISTEN', message: 'cannot listen on 127.0.0.1:80: EACCES' }
  const other = { code: 'NP_X', message: 'no space' }
  expect(review({ a: taken, b: taken, c: other, d: other })).toEqual([
    {
      reason: 'listen-failed',
      blocksReadiness: true,
      message: `addresses of userspace.bindMap are not served: ${taken.message}; free them or choose others (it is tried again)`,
    },
    {
      reason: 'kernel-refusals',
      blocksReadiness: false,
      message:
        'the kernel refuses c and others (NP_X: no space); the row of the code in docs/errors.md has the remedy',
    },
  ])
  expect(review({ a: taken })).toHaveLength(1)
  expect(review({})).toEqual([])
})
