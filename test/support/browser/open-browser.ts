import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Browser, chromium } from 'playwright-core'

const CHROMIUM = '/usr/bin/chromium'

/** Turn off the sandbox, which does not work for root, and everything that Chromium would download by itself. */
const FLAGS = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]

/** A browser; disposal ends it and removes its profile. */
export interface OpenedBrowser extends AsyncDisposable {
  readonly browser: Browser
}

/** Starts Chromium with a profile of its own. `enter`: words before the program, such as those of nsenter. */
export async function openBrowser(enter: readonly string[] = []): Promise<OpenedBrowser> {
  const folder = mkdtempSync(join(tmpdir(), 'np-browser-'))
  const launcher = join(folder, 'chromium')
  writeFileSync(launcher, `#!/bin/sh\nexec ${[...enter, CHROMIUM].join(' ')} "$@"\n`)
  chmodSync(launcher, 0o755)
  const browser = await chromium.launch({ executablePath: launcher, args: FLAGS, timeout: 60_000 })
  return {
    browser,
    async [Symbol.asyncDispose]() {
      await browser.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
