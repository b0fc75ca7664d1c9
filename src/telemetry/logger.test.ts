import { openSync, statSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { NodeProxyError } from '../lib/error.ts'
import { createLogger, isJournal, type LoggerOptions, levelOf } from './logger.ts'

async function captured(options: Partial<LoggerOptions> = {}) {
  const lines: string[] = []
  const stream = { write: (line: string) => void lines.push(line) }
  const log = await createLogger({ verbosity: 0, pretty: false, stream, ...options })
  return { log, lines, records: () => lines.map((line) => JSON.parse(line)) }
}

describe('createLogger', () => {
  it('writes one JSON object per record', async () => {
    const { log, lines, records } = await captured({ fields: { node: 'n1' } })
    log.info({ service: 'shop/cart' }, 'programmed')
    expect(records()).toEqual([
      {
        time: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
        level: 'info',
        node: 'n1',
        service: 'shop/cart',
        msg: 'programmed',
      },
    ])
    expect(lines[0]).toMatch(/\n$/)
  })

  it('begins each line with its priority where journald reads it', async () => {
    const { log, lines } = await captured({ isJournal: true, verbosity: 6 })
    const levels = ['fatal', 'error', 'warn', 'info', 'debug', 'trace'] as const
    for (const level of levels) log.child({ a: 1 })[level]('x')
    expect(lines.map((line) => line.slice(0, 3))).toEqual([
      '<2>',
      '<3>',
      '<4>',
      '<6>',
      '<7>',
      '<7>',
    ])
    expect(JSON.parse(lines[1]?.slice(3) ?? '')).toMatchObject({ level: 'error', a: 1, msg: 'x' })
  })

  it('knows the stream of journald by device and inode', () => {
    const { dev, ino } = statSync('/dev/null')
    const fd = openSync('/dev/null', 'r')
    expect(isJournal(fd, `${dev}:${ino}`)).toBe(true)
    expect(isJournal(fd, `${dev}:${ino + 1}`)).toBe(false)
    expect(isJournal(fd, undefined)).toBe(false)
  })

  it('writes errors with code and hint', async () => {
    const { log, records } = await captured()
    log.error({ err: new NodeProxyError('NP_X', 'no', { hint: 'do' }) }, 'failed')
    expect(records()[0].err).toEqual({ code: 'NP_X', message: 'no', hint: 'do' })
  })

  it('writes no secrets, wherever they are', async () => {
    const { log, lines } = await captured()
    log.info({ auth: { token: 's3cret-1' } }, 'Authorization: Bearer s3cret-2-long')
    log.error({ err: new Error('GET https://me:s3cret-3@host/') }, 'x')
    log.child({ password: 's3cret-4' }).info('y')
    expect(lines.join('')).not.toContain('s3cret')
  })

  it('keeps every record on its line and free of control characters', async () => {
    const { log, lines, records } = await captured()
    const evil = 'a\nb\u001b[31mc\u009b31md\u007f\u2028"}'
    log.info({ evil }, evil)
    expect(records()[0]).toMatchObject({ evil, msg: evil })
    expect(lines[0]?.trimEnd()).not.toMatch(/\p{Cc}/u)
  })

  it('is readable on a terminal, and still free of control characters', async () => {
    const { log, lines } = await captured({ pretty: true })
    log.info({ evil: 'x\u001b[31my', deep: { z: 'p\u001bq' } }, 'he\u001b[2Jllo\nworld')
    const text = lines.join('')
    expect(text).toContain('he\\u001b[2Jllo\\nworld')
    expect(text).not.toContain('\u001b[2J')
    expect(text).not.toContain('x\u001b')
    expect(text).not.toContain('p\u001b')
  })

  it('follows the verbosity, also when it changes', async () => {
    const { log, lines } = await captured({ verbosity: 3 })
    log.debug('a')
    log.trace('b')
    log.level = levelOf(0)
    log.debug('c')
    log.level = levelOf(6)
    log.trace('d')
    expect(lines.map((line) => JSON.parse(line).msg)).toEqual(['a', 'd'])
  })
})
