import { describe, expect, it } from 'vitest'
import { helpText } from '../../settings/help.ts'
import { configurationDocument } from './document.ts'
import { SETTINGS_TABLE } from './settings-table.ts'

describe('docs/operate/configuration.md', () => {
  it('is generated from the table of fields', async () => {
    await expect(configurationDocument()).toMatchFileSnapshot(
      '../../../docs/operate/configuration.md',
    )
  })
})

describe('--help', () => {
  it('names every flag, its field and the exit codes, in 100 columns', () => {
    const help = helpText(SETTINGS_TABLE)
    for (const [path, field] of SETTINGS_TABLE.entries) {
      expect(help).toContain(`--${field.flag}`)
      expect(help).toContain(`(${path})`)
    }
    expect(help).toMatch(/Exit codes: 0 .* 1 .* 2 /)
    expect(help.split('\n').filter((line) => line.length > 100)).toEqual([])
  })
})
