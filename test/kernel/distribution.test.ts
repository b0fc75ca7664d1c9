import { beforeEach, expect, test } from 'vitest'
import { deploy } from '../support/flows/deploy.ts'
import { chiSquareOfEqual } from '../support/lab/chi-square.ts'
import { useLab } from '../support/lab/use-lab.ts'

const lab = useLab()
beforeEach(() => lab().reset())

test.each([2, 3, 7, 10])('%i endpoints get equal shares of new connections', async (count) => {
  const endpoints = Array.from({ length: count }, (_, i) => ({
    ip: `10.180.2.${i + 1}`,
    node: 'far',
  }))
  await deploy(lab(), { key: 'ns/spread', clusterIP: '172.30.10.1', endpoints })
  const outcomes = await lab().connect('pod', {
    source: '10.0.0.2',
    destination: '172.30.10.1',
    port: 80,
    attempts: 300 * count,
    parallel: 32,
    timeoutMs: 5000,
  })
  const counts = endpoints.map(
    ({ ip }) => outcomes.filter((o) => o.kind === 'answered' && o.name === `${ip}:80`).length,
  )
  expect(counts.reduce((a, b) => a + b, 0)).toBe(300 * count)
  const { value, limit } = chiSquareOfEqual(counts)
  expect(value).toBeLessThan(limit)
})
