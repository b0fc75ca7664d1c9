import { expect, test } from 'vitest'
import { Session } from './session.ts'

function storage(initial: Readonly<Record<string, string>> = {}) {
  const values = new Map(Object.entries(initial))
  return {
    values,
    getItem: (key: string) => values.get(key) ?? null,
    setItem: (key: string, value: string) => void values.set(key, value),
    removeItem: (key: string) => void values.delete(key),
  }
}

test('a token is kept for the tab, and gone when the session ends', () => {
  const kept = storage()
  const session = new Session(kept)
  expect(session.signIn('  eyJh.bGci_-.x+/==\n')).toBeUndefined()
  expect(new Session(kept).credentials.value.token).toBe('eyJh.bGci_-.x+/==')
  session.end('it has expired')
  expect(session.credentials.value).toEqual({ token: '', reason: 'it has expired' })
  expect(kept.values.size).toBe(0)
  session.signIn('next')
  expect(session.credentials.value).toEqual({ token: 'next', reason: '' })
})

test.each(['', '  ', 'two words', 'a\r\nX-Other: 1', 'tök3n', '<b>'])(
  '%j is no token, and the reason does not repeat it',
  (text) => {
    const kept = storage()
    const session = new Session(kept)
    const why = session.signIn(text)
    expect(why).toMatch(/token/)
    if (text.trim() !== '') expect(why).not.toContain(text)
    expect([session.credentials.value.token, kept.values.size]).toEqual(['', 0])
  },
)

test('the refusal of an earlier token does not end the session of the next', () => {
  const session = new Session(storage({ token: 'old' }))
  session.signIn('new')
  session.end('refused', 'old')
  expect(session.credentials.value.token).toBe('new')
})
