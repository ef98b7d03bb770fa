import { createRoot } from 'react-dom/client'
import { takeToken } from './api/token.ts'
import { App } from './app.tsx'
import { listenToServer } from './live.ts'
import { applyTheme } from './theme.ts'
import './styles.css'

takeToken()
applyTheme()
void listenToServer()
createRoot(document.getElementById('root') as HTMLElement).render(<App />)
