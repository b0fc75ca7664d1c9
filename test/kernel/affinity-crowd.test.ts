import { test } from 'vitest'
import { expectCrowdSticks } from '../support/affinity/sticky-service.ts'
import { useLab } from '../support/lab/use-lab.ts'

const lab = useLab()

test('66,000 clients of one Service are spread evenly, and all stay with their endpoints', async () => {
  await expectCrowdSticks(lab(), 66_000)
}, 300_000)
