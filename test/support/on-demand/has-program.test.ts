import { expect, test, vi } from 'vitest'
import { hasProgram } from './has-program.ts'

test('a program that starts is there', () => {
  expect(hasProgram(process.execPath, 'nodejs')).toBe(true)
})

test('a missing one is named with its package, and is an error in CI', () => {
  const stderr = vi.spyOn(process.stderr, 'write').mockReturnValue(true)
  try {
    vi.stubEnv('CI', '')
    expect(hasProgram('np-no-such-program', 'some-package')).toBe(false)
    expect(stderr).toHaveBeenCalledWith(expect.stringContaining('the Debian package some-package'))
    vi.stubEnv('CI', 'true')
    expect(() => hasProgram('np-no-such-program', 'some-package')).toThrow('no np-no-such-program')
  } finally {
    vi.unstubAllEnvs()
    stderr.mockRestore()
  }
})
