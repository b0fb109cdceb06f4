"""Published shapes of credentials: how each begins, what follows, and what it is. Data for `secrets`.

A row is the literal beginning, the rest as a pattern, and the kind. The rest has a fixed length or runs over its
characters possessively, so that no part of a text is scanned twice. Sources: the documentation of the providers.
"""

from __future__ import annotations

_DIGIT = r"(?=[A-Za-z_-]{0,200}[0-9])"
_W = "[A-Za-z0-9_-]"
_END = "(?![0-9A-Za-z])"

SHAPES: tuple[tuple[str, str, str], ...] = (
    ("AKIA", rf"[0-9A-Z]{{16}}{_END}", "aws-key"),
    ("ASIA", rf"[0-9A-Z]{{16}}{_END}", "aws-key"),
    *((f"gh{c}_", "[A-Za-z0-9]{30,}+", "github-token") for c in "pousr"),
    ("github_pat_", "[A-Za-z0-9_]{22,}+", "github-token"),
    *((f"gl{c}-", rf"{_W}{{20,}}+", "gitlab-token") for c in "pat ptt dt rt cbt ft imt agent oas soat".split()),
    ("sk-", rf"{_DIGIT}{_W}{{20,}}+", "api-key"),
    *((f"{kind}_{mode}_", "[A-Za-z0-9]{16,}+", "api-key") for kind in ("sk", "rk") for mode in ("live", "test")),
    ("whsec_", "[A-Za-z0-9+/=]{24,}+", "api-key"),
    ("npm_", rf"[A-Za-z0-9]{{36}}{_END}", "npm-token"),
    ("cpk_", r"[0-9a-f]{12}_[A-Za-z0-9_-]{43}(?![0-9A-Za-z_-])", "api-key"),  # our own, see access.py
    ("hf_", "[A-Za-z0-9]{30,}+", "huggingface-token"),
    *((f"xox{c}-", "[A-Za-z0-9-]{10,}+", "slack-token") for c in "abeoprs"),
    ("xoxe.xox", "[bp]-[A-Za-z0-9-]{10,}+", "slack-token"),
    ("xapp-", "[0-9][A-Za-z0-9-]{10,}+", "slack-token"),
    ("AIza", r"[0-9A-Za-z_-]{35}(?![0-9A-Za-z_-])", "google-key"),
    ("GOCSPX-", rf"{_W}{{20,}}+", "google-key"),
    ("ya29.", rf"{_W}{{20,}}+", "google-key"),
    ("eyJ", r"[A-Za-z0-9_-]{8,}+\.eyJ[A-Za-z0-9_-]{8,}+(?:\.[A-Za-z0-9_-]*+)?", "jwt"),
    ("SG.", rf"{_W}{{16,}}+\.{_W}{{16,}}+", "api-key"),
    *((f"hv{c}.", rf"{_W}{{20,}}+", "vault-token") for c in "sbr"),
    ("dckr_pat_", rf"{_W}{{20,}}+", "docker-token"),
    ("dckr_oat_", rf"{_W}{{20,}}+", "docker-token"),
    ("pypi-Ag", rf"{_W}{{30,}}+", "pypi-token"),
    *((f"shp{c}_", rf"[a-fA-F0-9]{{32}}{_END}", "shopify-token") for c in ("at", "ca", "pa", "ss")),
    ("AGE-SECRET-KEY-1", "[0-9A-Z]{40,}+", "private-key"),
    ("lin_api_", "[A-Za-z0-9]{30,}+", "api-key"),
    ("lin_oauth_", "[A-Za-z0-9]{30,}+", "api-key"),
    ("xkeysib-", r"[a-f0-9]{40,}+(?:-[A-Za-z0-9]{8,}+)?", "api-key"),
    ("xsmtpsib-", r"[a-f0-9]{40,}+(?:-[A-Za-z0-9]{8,}+)?", "api-key"),
    *((f"do{c}_v1_", "[a-f0-9]{40,}+", "api-key") for c in "opr"),
    ("SK", rf"[0-9a-f]{{32}}{_END}", "api-key"),  # Twilio
    ("key-", rf"[0-9a-f]{{32}}{_END}", "api-key"),  # Mailgun
    ("dapi", rf"[0-9a-f]{{32}}(?:-[0-9])?{_END}", "api-key"),
    ("NRAK-", "[A-Z0-9]{20,}+", "api-key"),
    ("HRKU-", rf"{_W}{{30,}}+", "api-key"),
    ("ATATT3", r"[A-Za-z0-9_=-]{40,}+", "api-key"),
    ("ATBB", r"[A-Za-z0-9]{28,}+", "api-key"),
    ("figd_", rf"{_W}{{30,}}+", "api-key"),
    ("ntn_", "[A-Za-z0-9]{40,}+", "api-key"),
    ("sbp_", "[a-f0-9]{40,}+", "api-key"),
    ("sb_secret_", rf"{_W}{{20,}}+", "api-key"),
    ("sq0atp-", rf"{_W}{{20,}}+", "api-key"),
    ("sq0csp-", rf"{_W}{{40,}}+", "api-key"),
    ("gsk_", "[A-Za-z0-9]{40,}+", "api-key"),
    ("xai-", "[A-Za-z0-9]{40,}+", "api-key"),
    ("r8_", "[A-Za-z0-9]{36,}+", "api-key"),
    ("pplx-", "[A-Za-z0-9]{40,}+", "api-key"),
    ("tvly-", rf"{_W}{{24,}}+", "api-key"),
    ("PMAK-", rf"{_W}{{40,}}+", "api-key"),
    ("pul-", "[a-f0-9]{40}", "api-key"),
    ("glsa_", "[A-Za-z0-9_]{32,}+", "api-key"),
    ("glc_", r"[A-Za-z0-9+/=]{40,}+", "api-key"),
    ("sntrys_", r"[A-Za-z0-9+/=_]{40,}+", "api-key"),
    ("sntryu_", "[a-f0-9]{40,}+", "api-key"),
    ("nfp_", "[A-Za-z0-9]{30,}+", "api-key"),
    ("pscale_tkn_", rf"{_W}{{30,}}+", "api-key"),
    ("pscale_pw_", rf"{_W}{{30,}}+", "api-key"),
    ("rubygems_", "[a-f0-9]{48}", "api-key"),
    ("CLOJARS_", "[a-z0-9]{60}", "api-key"),
    ("CFPAT-", rf"{_W}{{40,}}+", "api-key"),
    ("shippo_live_", "[a-f0-9]{40}", "api-key"),
    ("tskey-", rf"{_W}{{20,}}+", "api-key"),
    ("ops_eyJ", r"[A-Za-z0-9_=-]{40,}+", "api-key"),
    ("LTAI", rf"[A-Za-z0-9]{{16,20}}{_END}", "api-key"),
    ("pat-na1-", "[0-9a-f-]{36}", "api-key"),
    ("pat-eu1-", "[0-9a-f-]{36}", "api-key"),
    ("dt0c01.", r"[A-Z0-9]{24}\.[A-Z0-9]{64}", "api-key"),
    ("dp.pt.", "[A-Za-z0-9]{40,}+", "api-key"),
    ("tfp_", rf"{_W}{{40,}}+", "api-key"),
    ("EZAK", "[A-Za-z0-9]{54}", "api-key"),
    ("pat", rf"[A-Za-z0-9]{{14}}\.[a-f0-9]{{64}}{_END}", "api-key"),  # Airtable
    ("oy2", rf"[a-z0-9]{{43}}{_END}", "api-key"),  # NuGet
    ("CCIPAT_", "[A-Za-z0-9]{10,40}_[a-f0-9]{40}", "api-key"),
    *((f"ph{c}_", "[A-Za-z0-9]{30,}+", "api-key") for c in "cxs"),
    ("re_", rf"[A-Za-z0-9]{{6,12}}_[A-Za-z0-9]{{18,30}}{_END}", "api-key"),  # Resend
    ("1//0", rf"{_W}{{30,}}+", "google-key"),
    ("EAAA", rf"{_W}{{58,}}+", "api-key"),  # Square
    ("secret_", rf"[A-Za-z0-9]{{43}}{_END}", "api-key"),  # Notion
    ("fo1_", rf"{_W}{{40,}}+", "api-key"),
    *((f"fm{n}_", r"[A-Za-z0-9+/=_,-]{40,}+", "api-key") for n in "12"),
    ("duffel_live_", rf"{_W}{{40,}}+", "api-key"),
    ("duffel_test_", rf"{_W}{{40,}}+", "api-key"),
    ("AKID", rf"[A-Za-z0-9]{{32}}{_END}", "api-key"),  # Tencent
    ("eyJrIjoi", r"[A-Za-z0-9+/_-]{40,}+={0,2}", "api-key"),  # Grafana, before service accounts
    ("FLWSECK-", r"[A-Za-z0-9-]{20,}+", "api-key"),
)

# Those that begin with nothing of their own, each with the text that has to be there for it to be looked for.
LOOSE: tuple[tuple[str, str, str], ...] = (
    (":AA", r"(?<![0-9A-Za-z])[0-9]{8,10}:AA[A-Za-z0-9_-]{32,34}(?![A-Za-z0-9_-])", "telegram-token"),
    ("hooks.slack.com/", r"(?<=hooks\.slack\.com/)(?:services|workflows)/[A-Za-z0-9/_-]{20,}+", "webhook"),
    ("/api/webhooks/", r"(?<=/api/webhooks/)[0-9]{15,20}/[A-Za-z0-9_-]{50,}+", "webhook"),
    (".", r"(?<![A-Za-z0-9_.-])[MNO][A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,40}(?![A-Za-z0-9_.-])",
     "discord-token"),
    ("-us", r"(?<![0-9A-Za-z])[0-9a-f]{32}-us[0-9]{1,2}(?![0-9A-Za-z])", "api-key"),
    ("-", r"(?<![0-9A-Za-z-])[0-9a-f]{32}-[0-9a-f]{8}-[0-9a-f]{8}(?![0-9A-Za-z-])", "api-key"),  # Mailgun
    ("8Q~", r"(?<![A-Za-z0-9_~.-])[A-Za-z0-9_~.-]{3}8Q~[A-Za-z0-9_~.-]{31,34}(?![A-Za-z0-9_~.-])", "azure-key"),
    (".atlasv1.", r"(?<![A-Za-z0-9])[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{60,}+", "api-key"),
)  # fmt: skip
