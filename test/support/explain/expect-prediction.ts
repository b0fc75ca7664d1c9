import { expect } from 'vitest'
import type { WalkOutcome } from '../../../src/explain/walk/walk-outcome.ts'
import { hostPort, type IpAddress } from '../../../src/lib/ip.ts'
import type { Lab } from '../lab/lab.ts'
import { happened, predicted } from './compare.ts'
import { type LabPacket, predict } from './predict.ts'

/** Connections for each predicted outcome; with these, one of two outcomes is missed once in 10^12 runs. */
const MAX_ATTEMPTS = 40

/** Shorter than the second after which TCP sends the SYN again, which rules may treat differently. */
const TIMEOUT_MS = 700
/** Used if every packet should be delivered; long, because a kernel may have to wait for a processor. */
const DELIVERED_MS = 60_000

/**
 * Predicts, then sends real packets, and expects that exactly the predicted outcomes happen. Returns the prediction.
 */
export async function expectPrediction(
  lab: Lab,
  packet: LabPacket,
): Promise<readonly WalkOutcome[]> {
  const { from, src, dst, port, protocol = 'TCP' } = packet
  await lab.site(from, src)
  const outcomes = await predict(lab, packet)
  const isDelivered = outcomes.every(({ kind }) => kind === 'delivered')
  const sent = await lab.connect(from, {
    protocol,
    source: src,
    destination: dst,
    port,
    timeoutMs: isDelivered ? DELIVERED_MS : TIMEOUT_MS,
    attempts: outcomes.every(({ kind }) => kind !== 'delivered')
      ? 2
      : MAX_ATTEMPTS * outcomes.length,
  })
  const real = sent.map((one) => happened(one, hostPort(dst as IpAddress, port)))
  expect(new Set(real), `${from} ${src} to ${dst} port ${port}`).toEqual(
    new Set(outcomes.map(predicted)),
  )
  expect(outcomes.reduce((sum, { probability }) => sum + probability, 0)).toBeCloseTo(1)
  return outcomes
}
