import { describe, expect, it } from 'vitest'
import { configurationDocument } from './document.ts'
import { FIELD_ENTRIES } from './fields/index.ts'
import { helpText } from './help.ts'

describe('docs/operate/configuration.md', () => {
  it('is what the table of fields says', async () => {
    await expect(configurationDocument()).toMatchFileSnapshot(
      '../../../docs/operate/configuration.md',
    )
  })
})

describe('--help', () => {
  it('names every flag, its field and the exit codes, in 100 columns', () => {
    const help = helpText()
    for (const [path, field] of FIELD_ENTRIES) {
      expect(help).toContain(`--${field.flag}`)
      expect(help).toContain(`(${path})`)
    }
    expect(help).toMatch(/Exit codes: 0 .* 1 .* 2 /)
    expect(help.split('\n').filter((line) => line.length > 100)).toEqual([])
  })
})
