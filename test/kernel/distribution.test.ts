import { beforeEach, expect, test } from 'vitest'
import { deploy } from '../support/flows/deploy.ts'
import { chiSquareOf, chiSquareOfEqual } from '../support/lab/chi-square.ts'
import { proxyMode } from '../support/lab/daemon-config.ts'
import { useLab } from '../support/lab/use-lab.ts'

const lab = useLab()
beforeEach(() => lab().reset())

/** How many of so many connections each of the endpoints answered; all must be. */
async function answersOf(endpoints: readonly { ip: string }[], attempts: number) {
  const outcomes = await lab().connect('pod', {
    source: '10.0.0.2',
    destination: '172.30.10.1',
    port: 80,
    attempts,
    parallel: 32,
    timeoutMs: 5000,
  })
  const counts = endpoints.map(
    ({ ip }) => outcomes.filter((o) => o.kind === 'answered' && o.name === `${ip}:80`).length,
  )
  expect(counts.reduce((a, b) => a + b, 0)).toBe(attempts)
  return counts
}

function endpointsOf(count: number) {
  return Array.from({ length: count }, (_, i) => ({ ip: `10.180.2.${i + 1}`, node: 'far' }))
}

test.each([2, 3, 7, 10])('%i endpoints get equal shares of new connections', async (count) => {
  const endpoints = endpointsOf(count)
  await deploy(lab(), { key: 'ns/spread', clusterIP: '172.30.10.1', endpoints })
  const { value, limit } = chiSquareOfEqual(await answersOf(endpoints, 300 * count))
  expect(value).toBeLessThan(limit)
})

/** Each mode's gaps name what it cannot do. */
const KNOWS_WEIGHTS = proxyMode() === 'nftables'

test.runIf(KNOWS_WEIGHTS)('endpoints get shares of new connections by their weights', async () => {
  const weights = [1, 2, 5, 8, 0]
  const endpoints = endpointsOf(weights.length)
  const byAddress = Object.fromEntries(endpoints.map(({ ip }, i) => [ip, weights[i] ?? 0]))
  await deploy(lab(), {
    key: 'ns/spread',
    clusterIP: '172.30.10.1',
    endpoints,
    weights: byAddress,
  })
  const counts = await answersOf(endpoints, 4_800)
  expect(counts.pop()).toBe(0)
  const { value, limit } = chiSquareOf(counts, weights.slice(0, -1))
  expect(value).toBeLessThan(limit)
})
