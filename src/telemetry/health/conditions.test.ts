import { describe, expect, it } from 'vitest'
import { createMetrics } from '../metrics/metrics.ts'
import { Conditions } from './conditions.ts'

function recorded() {
  const records: string[] = []
  const log = {
    warn: (fields: unknown, message: string) =>
      records.push(`warn ${message} ${JSON.stringify(fields)}`),
    info: (fields: unknown, message: string) =>
      records.push(`info ${message} ${JSON.stringify(fields)}`),
  }
  const metrics = createMetrics()
  const parts = { log, metrics } as unknown as ConstructorParameters<typeof Conditions>[0]
  return { conditions: new Conditions(parts), records, metrics }
}

const FULL = { message: 'the disk is full', blocksReadiness: true }

describe('Conditions', () => {
  it('logs the beginning, a change and the end, each once', () => {
    const { conditions, records } = recorded()
    conditions.raise('disk', FULL)
    conditions.raise('disk', { ...FULL })
    conditions.raise('disk', { ...FULL, message: 'the disk is gone' })
    conditions.clear('disk')
    conditions.clear('disk')
    expect(records).toEqual([
      'warn the disk is full {"reason":"disk"}',
      'warn the disk is gone {"reason":"disk"}',
      'info the condition ended {"reason":"disk"}',
    ])
  })

  it('is 1 in the metric while it holds, and 0 afterwards', async () => {
    const { conditions, metrics } = recorded()
    conditions.raise('disk', FULL)
    expect(await metrics.text()).toContain('nodeproxy_conditions{reason="disk"} 1')
    conditions.clear('disk')
    expect(await metrics.text()).toContain('nodeproxy_conditions{reason="disk"} 0')
  })

  it('lists what holds in the order in which it began', () => {
    const { conditions } = recorded()
    conditions.raise('disk', FULL)
    conditions.raise('load', { message: 'load is high', blocksReadiness: false })
    expect(conditions.current().map(({ message }) => message)).toEqual([
      'the disk is full',
      'load is high',
    ])
    conditions.clear('disk')
    expect(conditions.current()).toEqual([
      { reason: 'load', message: 'load is high', blocksReadiness: false },
    ])
  })
})
