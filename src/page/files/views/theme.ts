import { html } from 'htm/preact'
import { useEffect, useState } from 'preact/hooks'

/** Chooses the colours: those of the system, light, dark. */
export function ThemeButton() {
  const [theme, nextTheme] = useTheme()
  return html`<button type="button" class="theme" onClick=${nextTheme}>Colours: ${theme}</button>`
}

type Theme = 'system' | 'light' | 'dark'

const NEXT: Readonly<Record<Theme, Theme>> = { system: 'light', light: 'dark', dark: 'system' }
const KEY = 'theme'

/** The chosen theme, kept by the browser, and a function that chooses the next one. */
function useTheme(): readonly [Theme, () => void] {
  const [theme, setTheme] = useState<Theme>(readTheme)
  useEffect(() => {
    document.documentElement.dataset['theme'] = theme
    localStorage.setItem(KEY, theme)
    dispatchEvent(new Event('themechange'))
  }, [theme])
  return [theme, () => setTheme(NEXT[theme])]
}

function readTheme(): Theme {
  const stored = localStorage.getItem(KEY)
  return stored === 'light' || stored === 'dark' ? stored : 'system'
}

/** Calls back whenever colours change. @returns stops it */
export function watchTheme(onChange: () => void): () => void {
  const system = matchMedia('(prefers-color-scheme: dark)')
  system.addEventListener('change', onChange)
  addEventListener('themechange', onChange)
  return () => {
    system.removeEventListener('change', onChange)
    removeEventListener('themechange', onChange)
  }
}
